"""From a digest to a checked token in the ledger, and on to *final*, compared with the authority alone."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from statistics import median
from typing import Any

import foja
from bench.contenders.authorities import RunningAuthority, connections
from bench.contenders.authorities import foja as serve
from bench.contenders.connections import query
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, at_most, spread
from foja.app import App
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES, encode, lists_of
from foja.pure.proofs.ers import build_tree, group_hash
from foja.pure.proofs.tsa.token import read_token

CALLERS = 64
MAX_GROWTH, MAX_COST, MIN_GAIN = 1.2, 3.0, 2.0
BATCH, BATCHES = 10_000, (1, 100, 10_000)
CORES = os.cpu_count() or 1
POLL, POLLS = 0.02, 50_000  # counting is work too, and it grows with the documents
PROGRAM = "import sys; from foja.interfaces.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Goal:
    """How far documents are protected, by which workers, and the share of the authority to reach."""

    name: str
    stage: str
    state: str
    workers: tuple[str, ...]
    share: float
    note: str
    batch: int = 0  # most documents under one token


STAMPED = Goal(
    "to tsa.confirmed",
    "initial",
    "protected",
    ("protect_document_v2", *("run_tsa",) * CORES),  # one stamper per core
    0.5,
    "four events, three jobs, one checked token each",
)
FINAL = Goal(
    "to final",
    "final",
    "final",
    (*STAMPED.workers, *("build_artifact",) * CORES),
    0.18,
    "six events, five jobs, two checked tokens; a bundle built, sealed, judged and stored each",
)
BULK_STAMPED = replace(
    STAMPED,
    name="to tsa.confirmed, in bulk",
    note="four events, three jobs, one checked token for a claim",
    batch=BATCH,
)
BULK_FINAL = replace(
    FINAL,
    name="to final, in bulk",
    share=0.25,
    note="as above; a bundle with two evidence records, built, sealed with others, judged and stored each",
    batch=BATCH,
)
SINGLE, BULK = (STAMPED, FINAL), (BULK_STAMPED, BULK_FINAL)
GOALS = SINGLE + BULK


@dataclass
class Figures:
    """Tokens per second of every round, and per goal the seconds per document, by number of documents."""

    tokens: list[float] = field(default_factory=list)
    each: dict[str, dict[int, list[float]]] = field(default_factory=lambda: {goal.name: {} for goal in GOALS})

    def share(self, goal: Goal, many: int) -> Spread:
        """Return the documents per token of the authority alone, over all rounds."""
        times = self.each[goal.name][many]
        return spread([1 / (each * rate) for each, rate in zip(times, self.tokens, strict=True)])

    def gain(self, many: int) -> Spread:
        """Return how many times faster documents are stamped in bulk than one by one."""
        alone, bulk = (self.each[goal.name][many] for goal in (STAMPED, BULK_STAMPED))
        return spread([one / other for one, other in zip(alone, bulk, strict=True)])


async def run(bench: Bench) -> Outcome:
    """Measure the authority alone, then protect digests in growing numbers."""
    figures = Figures()
    many = bench.scale.protected[-1]
    folder = bench.server.folder / f"tsa-{secrets.token_hex(4)}"
    folder.mkdir()
    with serve(folder) as authority:
        for turn in range(min(bench.scale.rounds, 3)):
            bench.show_status(f"protect · round {turn + 1} · the authority alone")
            before = await _token_rate(authority, min(many, 2_000))
            for count in bench.scale.protected:
                for goal in GOALS:
                    await _measure(bench, authority, goal, count, figures)
            after = await _token_rate(authority, min(many, 2_000))
            figures.tokens.append((before + after) / 2)  # a slow moment of the machine affects both
        for goal in SINGLE:
            await _measure(bench, authority, goal, bench.scale.protected_once, figures)
        sizes = await _size_table(authority)
    return Outcome(
        [_table(figures, many), sizes, *(_growth_table(figures, goal) for goal in GOALS)],
        targets(figures, many),
        {"tokens": figures.tokens, "seconds_each": figures.each},
    )


async def _measure(
    bench: Bench, authority: RunningAuthority, goal: Goal, count: int, figures: Figures
) -> None:
    bench.show_status(f"protect {goal.name} · {count:,} digests")
    seconds = await seconds_to_protect(bench, authority, goal, count)
    figures.each[goal.name].setdefault(count, []).append(seconds / count)


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


async def seconds_to_protect(bench: Bench, authority: RunningAuthority, goal: Goal, count: int) -> float:
    """Return the seconds until the last document is in the goal's state, in a new installation."""
    with bench.server.create_database() as database:
        async with open_installation(database, authority, goal.workers, tsa_batch=goal.batch) as app:
            await _protect(app, goal, 64)  # warm up
            bench.server.checkpoint()
            gc.collect()
            began = time.perf_counter()
            await _protect(app, goal, count)
            return time.perf_counter() - began


@asynccontextmanager
async def open_installation(
    database: BenchDatabase, authority: RunningAuthority, workers: Sequence[str], **more: Any
) -> AsyncIterator[App]:
    """Yield an installation whose workers are separate processes, as in production."""
    settings = installation_settings(database, authority) | more
    async with foja.connect(**settings) as app:
        with running_workers(workers, settings):
            yield app


def installation_settings(database: BenchDatabase, authority: RunningAuthority) -> dict[str, Any]:
    """Return the settings of an installation that asks this authority."""
    root = database.folder / "root.pem"
    root.write_bytes(authority.root)
    settings = {"database_url": database.url, "home": database.folder, "tsa_roots": str(root)}
    return {**settings, "tsa_urls": authority.url, "tsa_timeout_seconds": 60}


@contextmanager
def running_workers(workers: Sequence[str], settings: Mapping[str, Any]) -> Iterator[None]:
    """Run a process for each of these job types."""
    environment = {f"FOJA_{name.upper()}": str(value) for name, value in settings.items()}
    with ExitStack() as running:
        for each in workers:
            command = [sys.executable, "-c", PROGRAM, "worker", f"--only={each}"]
            worker = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
            running.callback(_stop, worker)
        yield


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.wait(timeout=60)


async def _protect(app: App, goal: Goal, count: int) -> None:
    """Add digests, request evidence and wait until all documents are in the goal's state."""
    numbers = iter(range(count))

    async def add() -> None:
        for _ in numbers:
            document = await app.documents.add_digest(sha256(secrets.token_bytes(16)).hexdigest())
            await app.documents.protect(document.id, stage=goal.stage, witness_hash=document.sha256)

    before = await _count(app, goal)
    await asyncio.gather(*(add() for _ in range(CALLERS)))
    while await _count(app, goal) < before + count:
        await asyncio.sleep(max(POLL, count / POLLS))


async def _count(app: App, goal: Goal) -> int:
    rows = await app.database.of(app.settings.own_tenant).rows(query("count_documents"), state=goal.state)
    return int(rows[0][0])


def _table(figures: Figures, many: int) -> Table:
    rows = [("foja tsa serve alone", "1", f"{median(figures.tokens):,.0f}", "tokens, not checked")]
    for goal in GOALS:
        rate = 1 / median(figures.each[goal.name][many])
        rows.append((f"foja, {goal.name}", str(figures.share(goal, many)), f"{rate:,.0f}", goal.note))
    return Table(f"Protecting {many:,} digests", ("what", "share", "this run: per second", "note"), rows)


async def _size_table(authority: RunningAuthority) -> Table:
    """Return the bytes of a proof at several sizes of a batch: it grows by one hash for each doubling."""
    rows = []
    async with connections() as client:
        for size in BATCHES:
            digests, blindings = ([secrets.token_bytes(32) for _ in range(size)] for _ in range(2))
            tree = build_tree(list(map(group_hash, digests, blindings)))
            asked = tree.root if size > 1 else digests[0]
            reply = await client.post(authority.url, authority.query(asked, secrets.randbits(48)))
            if not isinstance(reply, bytes):
                raise RuntimeError(f"the authority did not answer: {reply.detail}")
            token = read_token(reply).der
            lists = map(lists_of, digests, blindings, tree.paths)
            largest = max(len(encode(each, token)) + BLINDING_BYTES for each in lists)
            rows.append((f"{size:,}", f"{1 / size:g}", f"{largest if size > 1 else len(reply):,}"))
    columns = ("documents of a batch", "tokens per document", "bytes of a proof")
    return Table("Proofs by the size of a batch", columns, rows)


def _growth_table(figures: Figures, goal: Goal) -> Table:
    each = figures.each[goal.name]
    first = min(each)
    rows = [
        (f"{count:,}", f"{median(times) / median(each[first]):.2f}", f"{median(times) * 1e3:,.2f}")
        for count, times in sorted(each.items())
    ]
    title = f"Time per document {goal.name}, by the number of documents"
    return Table(title, ("documents", f"times that of {first:,}", "this run: ms each"), rows)


def targets(figures: Figures, many: int) -> Sequence[Target]:
    """Return the targets. The time per document must not grow from any number to a larger one.

    It may be higher for few documents: a hundred wait as long for all workers as one does.
    """
    found = []
    for goal in (*SINGLE, BULK_FINAL):
        title = f"Protecting {many:,} digests {goal.name}"
        found.append(at_least(title, goal.share, figures.share(goal, many), "the authority alone"))
    for goal in SINGLE:
        each = [median(times) for _, times in sorted(figures.each[goal.name].items())]
        growth = max(later / earlier for earlier, later in itertools.combinations(each, 2))
        grown = f"Time per document {goal.name}, any number of documents compared with any smaller one"
        found.append(at_most(grown, MAX_GROWTH, growth))
    gain = figures.gain(many)
    found.append(at_least(f"Stamping {many:,} digests in bulk", MIN_GAIN, gain, "one token each"))
    stamped, final = (median(figures.each[goal.name][many]) for goal in SINGLE)
    found.append(at_most("Time to final, times that to tsa.confirmed", MAX_COST, final / stamped))
    return found
