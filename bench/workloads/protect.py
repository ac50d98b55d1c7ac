"""From a digest to a checked token in the ledger, compared with the authority alone."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median

import foja
from bench.contenders.authorities import RunningAuthority, connections
from bench.contenders.authorities import foja as serve
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_least, at_most, spread
from foja.app import App

CALLERS = 64
MIN_SHARE, MAX_GROWTH = 0.5, 1.2
WORKERS = ("protect_document_v2", *("run_tsa",) * (os.cpu_count() or 1))  # one stamper per core
POLL, POLLS = 0.02, 50_000  # counting is work too, and it grows with the documents
PROGRAM = "import sys; from foja.cli import main; sys.exit(main())"


@dataclass
class Figures:
    """Documents and tokens per second of every round, and seconds per document by number of documents."""

    documents: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    each: dict[int, list[float]] = field(default_factory=dict)


async def run(bench: Bench) -> Outcome:
    """Measure the authority alone, then protect digests in growing numbers."""
    figures = Figures()
    many, steps = bench.scale.protected[-1], bench.scale.protected
    folder = bench.server.folder / f"tsa-{secrets.token_hex(4)}"
    folder.mkdir()
    with serve(folder) as authority:
        for turn in range(min(bench.scale.rounds, 3)):
            bench.show_status(f"protect · round {turn + 1} · the authority alone")
            before = await _token_rate(authority, min(many, 2_000))
            for count in steps:
                await _measure(bench, authority, count, figures)
            after = await _token_rate(authority, min(many, 2_000))
            figures.tokens.append((before + after) / 2)  # a slow moment of the machine affects both
            figures.documents.append(1 / figures.each[many][-1])
        await _measure(bench, authority, bench.scale.protected_once, figures)
    return Outcome(
        [_table(figures, many), _growth_table(figures)],
        targets(figures, many),
        {"documents": figures.documents, "tokens": figures.tokens, "seconds_each": figures.each},
    )


async def _measure(bench: Bench, authority: RunningAuthority, count: int, figures: Figures) -> None:
    bench.show_status(f"protect · {count:,} digests")
    figures.each.setdefault(count, []).append(await _seconds_to_protect(bench, authority, count) / count)


async def _token_rate(authority: RunningAuthority, count: int) -> float:
    """Return the tokens per second of the authority alone."""
    numbers = iter(range(count))
    async with connections() as client:

        async def request() -> None:
            for _ in numbers:
                query = authority.query(sha256(secrets.token_bytes(16)).digest(), secrets.randbits(48))
                reply = await client.post(authority.url, query)
                if not isinstance(reply, bytes):
                    raise RuntimeError(f"the authority did not answer: {reply.detail}")

        gc.collect()
        began = time.perf_counter()
        await asyncio.gather(*(request() for _ in range(CALLERS)))
        return count / (time.perf_counter() - began)


async def _seconds_to_protect(bench: Bench, authority: RunningAuthority, count: int) -> float:
    """Return the seconds from the first digest to the last checked token, in a new installation."""
    with bench.server.create_database() as database:
        async with _open_installation(database, authority) as app:
            await _protect(app, 64)  # warm up
            bench.server.checkpoint()
            gc.collect()
            began = time.perf_counter()
            await _protect(app, count)
            return time.perf_counter() - began


@asynccontextmanager
async def _open_installation(database: BenchDatabase, authority: RunningAuthority) -> AsyncIterator[App]:
    """Yield an installation whose executor and stampers are separate processes, as in production."""
    root = database.folder / "root.pem"
    root.write_bytes(authority.root)
    settings = {"database_url": database.url, "home": str(database.folder)}
    tsa = {"tsa_urls": authority.url, "tsa_roots": str(root), "tsa_timeout_seconds": "60"}
    async with foja.connect(database_url=database.url, home=database.folder) as app:
        environment = {f"FOJA_{name.upper()}": value for name, value in (settings | tsa).items()}
        with ExitStack() as workers:
            for each in WORKERS:
                command = [sys.executable, "-c", PROGRAM, "worker", f"--only={each}"]
                worker = subprocess.Popen(
                    command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL
                )
                workers.callback(_stop, worker)
            yield app


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.wait(timeout=60)


async def _protect(app: App, count: int) -> None:
    """Add digests, request evidence and wait for it; the initial stage builds no artifact."""
    numbers = iter(range(count))

    async def add() -> None:
        for _ in numbers:
            document = await app.documents.add_digest(sha256(secrets.token_bytes(16)).hexdigest())
            await app.documents.protect(document.id, stage="initial", witness_hash=document.sha256)

    before = await _count_confirmed(app)
    await asyncio.gather(*(add() for _ in range(CALLERS)))
    while await _count_confirmed(app) < before + count:
        await asyncio.sleep(max(POLL, count / POLLS))


async def _count_confirmed(app: App) -> int:
    [(count,)] = await app.database.rows("select count(*) from foja.attempt where state = 'confirmed'")
    return int(count)


def _table(figures: Figures, many: int) -> Table:
    share = spread([d / t for d, t in zip(figures.documents, figures.tokens, strict=True)])
    rows = [
        ("foja tsa serve alone", "1", f"{median(figures.tokens):,.0f}", "tokens, not checked"),
        (
            "foja, end to end",
            str(share),
            f"{median(figures.documents):,.0f}",
            "four events, three jobs, one checked token each",
        ),
    ]
    return Table(f"Protecting {many:,} digests", ("what", "share", "this run: per second", "note"), rows)


def _growth_table(figures: Figures) -> Table:
    first = min(figures.each)
    rows = [
        (
            f"{count:,}",
            f"{median(times) / median(figures.each[first]):.2f}",
            f"{median(times) * 1e3:,.2f}",
        )
        for count, times in sorted(figures.each.items())
    ]
    title = "Time per document, by the number of documents"
    return Table(title, ("documents", f"times that of {first:,}", "this run: ms each"), rows)


def targets(figures: Figures, many: int) -> Sequence[Target]:
    """Return the targets. The time per document must not grow from any number to a larger one.

    It may be higher for few documents: a hundred wait as long for all workers as one does.
    """
    share = spread([d / t for d, t in zip(figures.documents, figures.tokens, strict=True)])
    each = [median(times) for _, times in sorted(figures.each.items())]
    growth = max(later / earlier for earlier, later in itertools.combinations(each, 2))
    return [
        at_least(f"Protecting {many:,} digests end to end", MIN_SHARE, share, "the authority alone"),
        at_most(
            "Time per document, any number of documents compared with any smaller one", MAX_GROWTH, growth
        ),
    ]
