"""Appends and an upload over HTTP, against the Python surface, a bare application and a plain copy."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import foja
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_least, spread
from bench.servers.http import CONNECTIONS, HttpServer, bare_server, foja_server, requests_per_second
from foja.conversations.service import Conversation

KIND, PAYLOAD = (
    "user_message_sent",
    {"content": "a message of about a hundred bytes, as people write them" * 2},
)
EVENT = {"kind": KIND, "payload": PAYLOAD}
BATCH = 100
SINGLE, BATCHED, BARE = (
    "/v1/conversations/ID/events",
    "/v1/conversations/ID/events/batch",
    "/streams/ID/events",
)
MIN_BATCH, MIN_SINGLE, MIN_BARE, MIN_UPLOAD, MAX_GROWTH = 0.6, 0.2, 1.0, 0.5, 64 << 20
ABSENT = "wrk is missing (apt install wrk); nothing was measured."
CHUNK = 1 << 20


@dataclass
class Figures:
    """Events per second of each surface, seconds of each copy, by round; bytes of memory."""

    events: dict[str, list[float]] = field(default_factory=dict)
    copies: dict[str, list[float]] = field(default_factory=dict)
    growth: int = 0

    def add(self, name: str, rate: float) -> None:
        """Add the rate of a round."""
        self.events.setdefault(name, []).append(rate)


async def run(bench: Bench) -> Outcome:
    """Measure in rounds, one surface at a time; then upload one large file."""
    if not shutil.which("wrk"):
        return Outcome([], [], {}, [ABSENT])
    figures, ids = Figures(), [uuid4() for _ in range(CONNECTIONS * 4)]
    with bench.server.create_database() as own, bench.server.create_database() as bare:
        for turn in range(bench.scale.rounds):
            bench.show_status(f"http · round {turn + 1}")
            await _python(figures, own, ids, bench.scale.seconds)
            await asyncio.to_thread(_served, figures, own, ids, bench.scale.seconds)
            await asyncio.to_thread(_bare, figures, bare, ids, bench.scale.seconds)
        size = 1 << 30 if bench.scale.rounds > 1 else 1 << 24
        bench.show_status(f"http · uploading {size >> 20} MB")
        await asyncio.to_thread(_upload, figures, own, size)
    return Outcome([_table(figures)], _targets(figures), {"http": vars(figures)})


async def _python(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float) -> None:
    """Append from this process: one event at a time, then batches."""
    async with foja.connect(database_url=database.url, home=str(database.folder / "home")) as app:
        talks = [await app.conversations.open(each) for each in ids]

        async def one(talk: Conversation) -> None:
            await talk.append(KIND, PAYLOAD)

        async def many(talk: Conversation) -> None:
            await talk.append_each([talk.draft(KIND, PAYLOAD) for _ in range(BATCH)])

        figures.add("Python, single", await _rate(one, talks, seconds))
        figures.add("Python, batch", BATCH * await _rate(many, talks, seconds))


async def _rate(call: Callable[..., object], talks: list[Conversation], seconds: float) -> float:
    """Return the calls per second of as many callers as wrk has connections."""
    end, done = time.perf_counter() + seconds, 0

    async def caller(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await call(talks[(number + done) % len(talks)])  # type: ignore[misc]
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*map(caller, range(CONNECTIONS)))
    return done / (time.perf_counter() - began)


def _served(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float) -> None:
    batch = json.dumps({"events": [EVENT] * BATCH})
    with foja_server(database) as server:
        figures.add("HTTP, single", requests_per_second(server, SINGLE, ids, json.dumps(EVENT), seconds))
        rate = requests_per_second(server, BATCHED, ids, batch, seconds)
        figures.add("HTTP, batch", BATCH * rate)


def _bare(figures: Figures, database: BenchDatabase, ids: list[UUID], seconds: float) -> None:
    with bare_server(database) as server:
        rate = requests_per_second(server, BARE, ids, json.dumps(EVENT), seconds)
    figures.add("FastAPI + asyncpg, single", rate)


def _upload(figures: Figures, database: BenchDatabase, size: int) -> None:
    """Upload a file of random bytes, and copy it with hashing to the same disk."""
    source = database.folder / "large"
    with source.open("wb") as file:
        for _ in range(size // CHUNK):
            file.write(os.urandom(CHUNK))
    with foja_server(database) as server:
        _post(server, source, "warm")
        before = server.memory()
        figures.copies = {"upload": [_post(server, source, "a")], "copy": [_copy(source)]}
        figures.growth = server.memory() - before


def _post(server: HttpServer, source: Path, name: str) -> float:
    began = time.perf_counter()
    words = ["curl", "-sf", "-X", "POST", "-H", "Content-Type: application/octet-stream", "-T", str(source)]
    subprocess.run(
        [*words, f"{server.address}/v1/documents?name={name}"], stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def _copy(source: Path) -> float:
    began, digest = time.perf_counter(), hashlib.sha256()
    with source.open("rb") as file, source.with_name("copy").open("wb") as target:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    return time.perf_counter() - began


def _table(figures: Figures) -> Table:
    rows = [(name, f"{spread(rates).middle:,.0f}") for name, rates in figures.events.items()]
    return Table(f"Events per second, {CONNECTIONS} connections or callers", ("surface", "events/s"), rows)


def _targets(figures: Figures) -> list[Target]:
    def ratio(name: str, to: str) -> list[float]:
        return [a / b for a, b in zip(figures.events[name], figures.events[to], strict=True)]

    bare = "the same append in FastAPI + asyncpg"
    copied = spread([figures.copies["copy"][0] / figures.copies["upload"][0]])
    return [
        at_least(
            "batch append over HTTP", MIN_BATCH, spread(ratio("HTTP, batch", "Python, batch")), "Python"
        ),
        at_least(
            "single append over HTTP", MIN_SINGLE, spread(ratio("HTTP, single", "Python, single")), "Python"
        ),
        at_least("single append", MIN_BARE, spread(ratio("HTTP, single", "FastAPI + asyncpg, single")), bare),
        at_least("upload of a document", MIN_UPLOAD, copied, "a copy with hashing"),
        Target(
            "memory of the server while it receives it",
            f"≤ {MAX_GROWTH >> 20} MB more",
            f"{figures.growth / 2**20:.0f} MB",
            passed=figures.growth <= MAX_GROWTH,
        ),
    ]
