"""The upload of one large document over HTTP, compared with a plain copy that hashes, on the same disk."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from pathlib import Path

from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_least, spread
from bench.servers.http import HttpServer, foja_server

CHUNK = 1 << 20
SIZE, QUICK_SIZE = 1 << 30, 1 << 24
MOST_ROUNDS = 3
MIN_RATE, MAX_GROWTH = 0.5, 64 << 20
CURL = ("curl", "-sSf", "-X", "POST", "-H", "Content-Type: application/octet-stream", "-o", os.devnull)


def run(bench: Bench, database: BenchDatabase, key: str) -> Outcome:
    """Upload and copy in turn, other bytes in every round; the server has received a small one before."""
    size = SIZE if bench.scale.rounds > 1 else QUICK_SIZE
    source, uploads, copies = database.folder / "large", list[float](), list[float]()
    with foja_server(database) as server:
        _fill(source, CHUNK)
        _post(server, source, key)
        before = server.memory()
        _fill(source, size)
        for turn in range(min(bench.scale.rounds, MOST_ROUNDS)):
            bench.show_status(f"http · upload of {size >> 20:,} MB · round {turn + 1}")
            _renew(source)
            uploads.append(_post(server, source, key))
            copies.append(_copy(source))
        growth = server.memory() - before
    source.unlink()
    return Outcome([_table(size, uploads, copies)], _targets(uploads, copies, growth), {"growth": growth})


def _fill(source: Path, size: int) -> None:
    with source.open("wb") as file:
        for _ in range(size // CHUNK):
            file.write(os.urandom(CHUNK))


def _renew(source: Path) -> None:
    """Change the first bytes: an object that is stored already would not be written again."""
    with source.open("r+b") as file:
        file.write(os.urandom(32))


def _post(server: HttpServer, source: Path, key: str) -> float:
    """Return the seconds of an upload until it is answered."""
    shown = ("-H", f"Authorization: Bearer {key}", "-T", str(source))
    began = time.perf_counter()
    subprocess.run([*CURL, *shown, f"{server.address}/v1/documents?name=large"], check=True)
    return time.perf_counter() - began


def _copy(source: Path) -> float:
    """Return the seconds of a copy with hashing, until it is on the disk."""
    target = source.with_name("copy")
    began, digest = time.perf_counter(), hashlib.sha256()
    with source.open("rb") as file, target.open("wb") as copy:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    seconds = time.perf_counter() - began
    target.unlink()
    return seconds


def _table(size: int, uploads: list[float], copies: list[float]) -> Table:
    rows = [
        (name, f"{size / 2**20 / spread(seconds).middle:,.0f}")
        for name, seconds in (("upload over HTTP", uploads), ("copy with hashing", copies))
    ]
    return Table(f"A document of {size >> 20:,} MB", ("way", "this run, MB/s"), rows)


def _targets(uploads: list[float], copies: list[float], growth: int) -> list[Target]:
    rates = spread([copy / upload for copy, upload in zip(copies, uploads, strict=True)])
    return [
        at_least("Upload of a document over HTTP", MIN_RATE, rates, "a copy with hashing"),
        Target(
            "Memory of the server while it receives a document",
            f"≤ {MAX_GROWTH >> 20} MB more",
            f"{growth / 2**20:.0f} MB",
            passed=growth <= MAX_GROWTH,
        ),
    ]
