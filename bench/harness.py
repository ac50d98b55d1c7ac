"""A work, the contenders that do it, and the race between them.

Every turn opens a contender, warms it up, measures, and closes it again, so
that nobody's idle connections weigh on the next. Ratios compare turns of the
same round: what slows the machine for a while slows both sides of them.
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

from bench.outcome import Spread, spread
from bench.place import Place, Room

Say = Callable[[str], None]
Role = Literal["floor", "ours", "peer"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    seconds: float
    rounds: int
    streams: int
    callers: tuple[int, ...]
    batch: int
    histories: tuple[int, ...]
    samples: int
    memory: tuple[int, int]
    warm_calls: int
    protected: tuple[int, ...]  # documents
    protected_once: int  # so many that one round of them is enough


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
)


@dataclass(frozen=True, slots=True)
class Bench:
    """What every group is given."""

    place: Place
    scale: Scale
    say: Say


@dataclass(frozen=True, slots=True)
class Work:
    """Something to do: so many callers at once, each call so many events."""

    title: str
    callers: int
    size: int = 1
    hot: bool = False

    def stream(self, call: int, streams: int) -> int:
        """Return which stream a call writes to: the hot one, or all in turn."""
        return 0 if self.hot else call * 7_919 % streams


class Contender(Protocol):
    """One way to keep events. `call` is unique for the life of its database."""

    name: str
    note: str
    role: Role
    lossless: bool  # can a reader of everything be sure to see every event?
    blocking: bool  # its calls hold their thread, so each caller gets one

    async def create(self, room: Room, streams: int) -> None:
        """Make the schema, and the streams with one event each."""

    async def open(self, callers: int) -> None:
        """Connect."""

    async def append(self, caller: int, call: int, stream: int) -> None:
        """Write one event."""

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        """Write several events of one stream in one call."""

    async def close(self) -> None:
        """Leave nothing open."""

    async def count(self) -> int:
        """Return how many events are there."""


@dataclass(slots=True)
class Entrant:
    """A contender in its room, and how many events it says it wrote."""

    contender: Contender
    streams: int
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class Race:
    """Events per second of each contender, one number per round."""

    work: Work
    contenders: Sequence[Contender]
    rates: dict[str, list[float]]

    def ratio(self, name: str, to: str) -> Spread:
        """Return how often faster one was than the other, round by round."""
        return spread([a / b for a, b in zip(self.rates[name], self.rates[to], strict=True)])

    def best_peer(self, *, lossless: bool) -> str:
        """Return the name of the fastest peer, of those that lose nothing if asked."""
        peers = [c.name for c in self.contenders if c.role == "peer" and (c.lossless or not lossless)]
        return max(peers, key=lambda name: median(self.rates[name]))


@asynccontextmanager
async def entrants(
    bench: Bench, contenders: Sequence[Contender], streams: int
) -> AsyncIterator[list[Entrant]]:
    """Lend every contender a room of its own with its streams in it."""
    with ExitStack() as rooms:
        field = []
        for contender in contenders:
            bench.say(f"making the streams of {contender.name}")
            room = rooms.enter_context(bench.place.room())
            await contender.create(room, streams)
            bench.place.settle(room)
            field.append(Entrant(contender, streams, claimed=streams))
        bench.place.checkpoint()
        yield field


async def race(bench: Bench, work: Work, field: Sequence[Entrant]) -> Race:
    """Let everybody do the work, in another order in every round."""
    rates: dict[str, list[float]] = {entrant.contender.name: [] for entrant in field}
    for turn in range(bench.scale.rounds):
        for entrant in random.sample(field, len(field)):
            name = entrant.contender.name
            bench.say(f"{work.title} · round {turn + 1} of {bench.scale.rounds} · {name}")
            rates[name].append(await measure(work, entrant, bench.scale))
    return Race(work, [entrant.contender for entrant in field], rates)


async def check(field: Sequence[Entrant]) -> dict[str, dict[str, int]]:
    """Return what everybody claims and what is there; a contender that lies is an error."""
    found = {e.contender.name: {"claimed": e.claimed, "found": await e.contender.count()} for e in field}
    for name, counts in found.items():
        if counts["claimed"] != counts["found"]:
            raise RuntimeError(
                f"{name} says it wrote {counts['claimed']} events, {counts['found']} are there"
            )
    return found


async def measure(work: Work, entrant: Entrant, scale: Scale) -> float:
    """Return the events per second of one turn."""
    await entrant.contender.open(work.callers)
    try:
        await drive(work, entrant, scale.seconds / 5, scale.warm_calls)
        gc.collect()
        began = time.perf_counter()
        written = await drive(work, entrant, scale.seconds, 1)
        return written / (time.perf_counter() - began)
    finally:
        await entrant.contender.close()


_calls = itertools.count(1)


async def drive(work: Work, entrant: Entrant, seconds: float, least: int) -> int:
    """Let all callers call until time is up, each at least so often; returns the events written."""
    deadline = time.perf_counter() + seconds
    callers = [_call(work, entrant, caller, deadline, least) for caller in range(work.callers)]
    if entrant.contender.blocking:
        with ThreadPoolExecutor(work.callers) as threads:
            loop = asyncio.get_running_loop()
            done = await asyncio.gather(*(loop.run_in_executor(threads, _finish, each) for each in callers))
    else:
        done = await asyncio.gather(*callers)
    entrant.claimed += sum(done)
    return sum(done)


async def _call(work: Work, entrant: Entrant, caller: int, deadline: float, least: int) -> int:
    contender, streams, done = entrant.contender, entrant.streams, 0
    for call in _until(deadline, least):
        stream = work.stream(call, streams)
        if work.size > 1:
            await contender.append_list(caller, call, stream, work.size)
        else:
            await contender.append(caller, call, stream)
        done += work.size
    return done


def _until(deadline: float, least: int) -> Iterator[int]:
    for turn in itertools.count():
        if turn >= least and time.perf_counter() >= deadline:
            return
        yield next(_calls)


def _finish(coroutine: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine that never waits, in a thread that may."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return int(end.value)
    raise RuntimeError("a blocking contender must not await anything")
