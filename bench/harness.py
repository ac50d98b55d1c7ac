"""Run workloads with contenders and compare their rates.

Every turn opens a contender, warms it up, measures it and closes it, so that its idle connections do
not affect the next turn. Ratios compare turns of the same round: a slow moment of the machine affects
both sides.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, Protocol

from bench.database import BenchDatabase, BenchServer
from bench.outcome import Spread, spread

ShowStatus = Callable[[str], None]
Role = Literal["baseline", "foja", "peer"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a run."""

    seconds: float
    rounds: int
    streams: int
    callers: tuple[int, ...]
    batch: int
    histories: tuple[int, ...]
    samples: int
    memory: tuple[int, int]
    warm_calls: int
    protected: tuple[int, ...]  # numbers of documents
    protected_once: int  # a number of documents that is measured only once
    photos: tuple[int, int]  # how many, and how wide
    objects: tuple[int, int]  # how many of 100 kB, and of 20 MB
    pages: tuple[int, int]  # few and many documents, jobs, messages and images
    scanned: tuple[int, int, int]  # objects: few, many that have only rows, many that are files
    monitored: tuple[int, int]  # events that are appended, and entries of a larger log


FULL = Scale(
    seconds=2.0,
    rounds=5,
    streams=5_000,
    callers=(1, 16, 64),
    batch=256,
    histories=(10, 1_000, 100_000),
    samples=1_000,
    memory=(10_000, 100_000),
    warm_calls=8,
    protected=(100, 1_000, 10_000),
    protected_once=100_000,
    photos=(40, 4_000),
    objects=(320, 32),
    pages=(1_000, 1_000_000),
    scanned=(10_000, 1_000_000, 100_000),
    monitored=(20_000, 1_000_000),
)
QUICK = Scale(
    seconds=0.3,
    rounds=1,
    streams=40,
    callers=(1, 8),
    batch=16,
    histories=(10, 50, 200),
    samples=10,
    memory=(500, 2_000),
    warm_calls=1,
    protected=(20, 60),
    protected_once=100,
    photos=(5, 600),
    objects=(16, 2),
    pages=(200, 1_000),
    scanned=(100, 1_000, 200),
    monitored=(200, 4_000),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """The parameters of every group."""

    server: BenchServer
    scale: Scale
    show_status: ShowStatus


@dataclass(frozen=True, slots=True)
class Workload:
    """A load: the number of concurrent callers and of events per call."""

    title: str
    callers: int
    size: int = 1
    hot: bool = False

    def stream(self, call: int, streams: int) -> int:
        """Return the stream of a call: the hot one, or all of them in turn."""
        return 0 if self.hot else call * 7_919 % streams


class Contender(Protocol):
    """One event store. `call` is unique for the life of its database."""

    name: str
    note: str
    role: Role
    lossless: bool  # whether a reader of all streams sees every event
    blocking: bool  # its calls block, so each caller has a thread

    async def create(self, database: BenchDatabase, streams: int) -> None:
        """Create the schema, and the streams with one event each."""

    async def open(self, callers: int) -> None:
        """Connect."""

    async def append(self, caller: int, call: int, stream: int) -> None:
        """Append one event."""

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        """Append several events of one stream in one call."""

    async def close(self) -> None:
        """Disconnect."""

    async def count(self) -> int:
        """Return the number of stored events."""


@dataclass(slots=True)
class Entrant:
    """A contender and the number of events that it appended."""

    contender: Contender
    streams: int
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class Race:
    """Events per second of each contender, one number per round."""

    workload: Workload
    contenders: Sequence[Contender]
    rates: dict[str, list[float]]

    def ratio(self, name: str, to: str) -> Spread:
        """Return the ratio of two rates, over all rounds."""
        return spread([a / b for a, b in zip(self.rates[name], self.rates[to], strict=True)])

    def best_peer(self, *, lossless: bool) -> str:
        """Return the name of the fastest peer, or of the fastest lossless one."""
        peers = [c.name for c in self.contenders if c.role == "peer" and (c.lossless or not lossless)]
        return max(peers, key=lambda name: median(self.rates[name]))


@asynccontextmanager
async def entrants(
    bench: Bench, contenders: Sequence[Contender], streams: int
) -> AsyncIterator[list[Entrant]]:
    """Yield every contender with its own database and streams."""
    with ExitStack() as databases:
        entered = []
        for contender in contenders:
            bench.show_status(f"creating the streams of {contender.name}")
            database = databases.enter_context(bench.server.create_database())
            await contender.create(database, streams)
            bench.server.vacuum(database)
            entered.append(Entrant(contender, streams, claimed=streams))
        bench.server.checkpoint()
        yield entered


async def race(bench: Bench, workload: Workload, entered: Sequence[Entrant]) -> Race:
    """Run the workload with every contender, in random order in every round."""
    rates: dict[str, list[float]] = {entrant.contender.name: [] for entrant in entered}
    for turn in range(bench.scale.rounds):
        for entrant in random.sample(entered, len(entered)):
            name = entrant.contender.name
            bench.show_status(f"{workload.title} · round {turn + 1} of {bench.scale.rounds} · {name}")
            rates[name].append(await measure(workload, entrant, bench.scale))
    return Race(workload, [entrant.contender for entrant in entered], rates)


async def check_counts(entered: Sequence[Entrant]) -> dict[str, dict[str, int]]:
    """Return the appended and the stored number of events; raise if they differ."""
    found = {e.contender.name: {"claimed": e.claimed, "found": await e.contender.count()} for e in entered}
    for name, counts in found.items():
        if counts["claimed"] != counts["found"]:
            raise RuntimeError(f"{name} appended {counts['claimed']} events, {counts['found']} are stored")
    return found


async def measure(workload: Workload, entrant: Entrant, scale: Scale) -> float:
    """Return the events per second of one turn."""
    await entrant.contender.open(workload.callers)
    try:
        await drive(workload, entrant, scale.seconds / 5, scale.warm_calls)
        gc.collect()
        began = time.perf_counter()
        written = await drive(workload, entrant, scale.seconds, 1)
        return written / (time.perf_counter() - began)
    finally:
        await entrant.contender.close()


_calls = itertools.count(1)


async def drive(workload: Workload, entrant: Entrant, seconds: float, least: int) -> int:
    """Run all callers until the time is up, each at least `least` times; return the number of events."""
    deadline = time.perf_counter() + seconds
    callers = [_call(workload, entrant, caller, deadline, least) for caller in range(workload.callers)]
    if entrant.contender.blocking:
        with ThreadPoolExecutor(workload.callers) as threads:
            loop = asyncio.get_running_loop()
            done = await asyncio.gather(
                *(loop.run_in_executor(threads, _run_blocking, each) for each in callers)
            )
    else:
        done = await asyncio.gather(*callers)
    entrant.claimed += sum(done)
    return sum(done)


async def _call(workload: Workload, entrant: Entrant, caller: int, deadline: float, least: int) -> int:
    contender, streams, done = entrant.contender, entrant.streams, 0
    for call in _next_calls(deadline, least):
        stream = workload.stream(call, streams)
        if workload.size > 1:
            await contender.append_list(caller, call, stream, workload.size)
        else:
            await contender.append(caller, call, stream)
        done += workload.size
    return done


def _next_calls(deadline: float, least: int) -> Iterator[int]:
    for turn in itertools.count():
        if turn >= least and time.perf_counter() >= deadline:
            return
        yield next(_calls)


def _run_blocking(coroutine: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine that never suspends, in a thread that may block."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return int(end.value)
    raise RuntimeError("a blocking contender must not await anything")
