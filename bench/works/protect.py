"""From a digest to a checked token in the ledger, beside the authority alone over the same client."""

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
from bench.contenders.authorities import Served, connections
from bench.contenders.authorities import foja as serve
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_least, at_most, spread
from bench.place import Room
from foja.app import App

CALLERS = 64
SHARE, GROWTH = 0.5, 1.2
WORKERS = ("protect_document_v2", *("run_tsa",) * (os.cpu_count() or 1))  # a stamper per core
POLL, POLLS = 0.02, 50_000  # to count is work too, and more of it the more there are
PROGRAM = "import sys; from foja.cli import main; sys.exit(main())"


@dataclass
class Figures:
    """Documents and tokens per second, round by round, and the seconds of one document by number of them."""

    documents: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    each: dict[int, list[float]] = field(default_factory=dict)


async def run(bench: Bench) -> Outcome:
    """Let the authority stamp alone, then protect as many digests, and see what more of them cost."""
    figures = Figures()
    many, steps = bench.scale.protected[-1], bench.scale.protected
    folder = bench.place.folder / f"tsa-{secrets.token_hex(4)}"
    folder.mkdir()
    with serve(folder) as served:
        for turn in range(min(bench.scale.rounds, 3)):
            bench.say(f"protect · round {turn + 1} · the authority alone")
            before = await _alone(served, min(many, 2_000))
            for count in steps:
                await _measure(bench, served, count, figures)
            after = await _alone(served, min(many, 2_000))
            figures.tokens.append((before + after) / 2)  # what slows the machine for a while slows both
            figures.documents.append(1 / figures.each[many][-1])
        await _measure(bench, served, bench.scale.protected_once, figures)
    return Outcome(
        [_table(figures, many), _steps(figures)],
        targets(figures, many),
        {"documents": figures.documents, "tokens": figures.tokens, "seconds_each": figures.each},
    )


async def _measure(bench: Bench, served: Served, count: int, figures: Figures) -> None:
    bench.say(f"protect · {count:,} digests")
    figures.each.setdefault(count, []).append(await _protected(bench, served, count) / count)


async def _alone(served: Served, count: int) -> float:
    """Return how many tokens a second the authority gives when nothing else is done with them."""
    numbers = iter(range(count))
    async with connections() as client:

        async def ask() -> None:
            for _ in numbers:
                query = served.query(sha256(secrets.token_bytes(16)).digest(), secrets.randbits(48))
                reply = await client.post(served.url, query)
                if not isinstance(reply, bytes):
                    raise RuntimeError(f"the authority did not answer: {reply.detail}")

        gc.collect()
        began = time.perf_counter()
        await asyncio.gather(*(ask() for _ in range(CALLERS)))
        return count / (time.perf_counter() - began)


async def _protected(bench: Bench, served: Served, count: int) -> float:
    """Return the seconds from the first digest to the last checked token in a new installation."""
    with bench.place.room() as room:
        async with _working(room, served) as app:
            await _protect(app, 64)  # warm
            bench.place.checkpoint()
            gc.collect()
            began = time.perf_counter()
            await _protect(app, count)
            return time.perf_counter() - began


@asynccontextmanager
async def _working(room: Room, served: Served) -> AsyncIterator[App]:
    """Lend an installation whose executor and stampers are processes of their own, as in earnest."""
    root = room.folder / "root.pem"
    root.write_bytes(served.root)
    settings = {"database_url": room.url, "home": str(room.folder)}
    authority = {"tsa_urls": served.url, "tsa_roots": str(root), "tsa_timeout_seconds": "60"}
    async with foja.connect(database_url=room.url, home=room.folder) as app:
        given = {f"FOJA_{name.upper()}": value for name, value in (settings | authority).items()}
        with ExitStack() as workers:
            for each in WORKERS:
                words = [sys.executable, "-c", PROGRAM, "worker", f"--only={each}"]
                worker = subprocess.Popen(words, env={**os.environ, **given}, stdout=subprocess.DEVNULL)
                workers.callback(_stop, worker)
            yield app


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.wait(timeout=60)


async def _protect(app: App, count: int) -> None:
    """Add, request and see confirmed; in the first stage, since an artifact is measured elsewhere."""
    numbers = iter(range(count))

    async def add() -> None:
        for _ in numbers:
            document = await app.documents.add_digest(sha256(secrets.token_bytes(16)).hexdigest())
            await app.documents.protect(document.id, stage="initial", witness_hash=document.sha256)

    before = await _confirmed(app)
    await asyncio.gather(*(add() for _ in range(CALLERS)))
    while await _confirmed(app) < before + count:
        await asyncio.sleep(max(POLL, count / POLLS))


async def _confirmed(app: App) -> int:
    [(count,)] = await app.database.rows("select count(*) from foja.attempt where state = 'confirmed'")
    return int(count)


def _table(figures: Figures, many: int) -> Table:
    share = spread([d / t for d, t in zip(figures.documents, figures.tokens, strict=True)])
    rows = [
        ("foja tsa serve, asked alone", "1", f"{median(figures.tokens):,.0f}", "tokens, not even checked"),
        (
            "foja, end to end",
            str(share),
            f"{median(figures.documents):,.0f}",
            "four events, three jobs, one checked token each",
        ),
    ]
    return Table(f"Protecting {many:,} digests", ("who", "share", "this run: per second", "note"), rows)


def _steps(figures: Figures) -> Table:
    first = min(figures.each)
    rows = [
        (
            f"{count:,}",
            f"{median(times) / median(figures.each[first]):.2f}",
            f"{median(times) * 1e3:,.2f}",
        )
        for count, times in sorted(figures.each.items())
    ]
    title = "Time of one document, by how many are protected"
    return Table(title, ("documents", f"times that of {first:,}", "this run: ms each"), rows)


def targets(figures: Figures, many: int) -> Sequence[Target]:
    """Return what must be reached; flat means that no step is dearer than any before it.

    A few are dearer than many, and may be: on the way through all workers, a hundred wait as long as one.
    """
    share = spread([d / t for d, t in zip(figures.documents, figures.tokens, strict=True)])
    each = [median(times) for _, times in sorted(figures.each.items())]
    growth = max(later / earlier for earlier, later in itertools.combinations(each, 2))
    return [
        at_least(f"Protecting {many:,} digests end to end", SHARE, share, "the authority alone"),
        at_most("Time of one document, any number of them against any smaller one", GROWTH, growth),
    ]
