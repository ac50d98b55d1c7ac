"""The lanes compared: sixteen writers on one conversation, and reservations compared with appends.

Appends are sent one by one; the micro-batched row shows the effect of batching on PostgreSQL. With a
worker, the events on the Redis lane are also sealed, which the PostgreSQL lane does in the append.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import foja
from bench.contenders.connections import fetch
from bench.contenders.payloads import MESSAGE, message
from bench.database import BenchDatabase
from bench.harness import Bench, Scale
from bench.outcome import Outcome, Spread, Table, Target, at_least, spread
from foja.domains.conversations.service import Conversation
from foja.engine.embedded import redis

WRITERS, RESERVED = 16, 5
POSTGRES, REDIS, BATCHED = "PostgreSQL lane", "Redis lane", "PostgreSQL lane, micro-batched"
WITH_WORKER = "Redis lane, with worker"
_calls = itertools.count(1)


@dataclass
class Side:
    """One lane with its own database, and its measurements per turn."""

    name: str
    database: BenchDatabase
    settings: dict[str, Any]
    worker: bool = False
    claimed: int = 0
    turns: list[list[float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    appends: list[float] = field(default_factory=list)
    reserves: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Conversation]:
        """Yield a conversation with one event on this lane."""
        given = {"database_url": self.database.url, "home": self.database.folder, **self.settings}
        async with (
            foja.connect(connections=WRITERS, **given) as app,
            _background(app.work if self.worker else None),
        ):
            conversation = await app.conversations.open()
            await self.append(conversation)
            yield conversation

    async def append(self, conversation: Conversation) -> None:
        call = next(_calls)
        await conversation.append(MESSAGE.kind, message(call), idempotency_key=f"call-{call}")
        self.claimed += 1

    def rate(self, turn: int) -> float:
        return len(self.turns[turn]) / self.seconds[turn]

    def p99(self, turn: int) -> float:
        return quantiles(self.turns[turn], n=100, method="inclusive")[98]


async def run(bench: Bench) -> Outcome:
    """Measure the lanes on a hot conversation, then reservations and appends."""
    with _sides(bench) as sides:
        for turn in range(bench.scale.rounds):
            for side in random.sample(sides, len(sides)):
                bench.show_status(f"lanes · round {turn + 1} of {bench.scale.rounds} · {side.name}")
                await _hot(side, bench.scale)
                if not side.worker and side.name != BATCHED:
                    await _compare_reserve(side, bench.scale)
        for side in sides:
            await _check(side)
    plain = {side.name: side for side in sides}
    return Outcome(_tables(plain), _targets(plain), _figures(sides))


@contextmanager
def _sides(bench: Bench) -> Iterator[list[Side]]:
    with ExitStack() as opened:
        server = redis.start(bench.server.folder)
        opened.callback(server.release)
        alone: dict[str, Any] = {"micro_batch": False}
        fast = {**alone, "redis_url": server.url, "redis_timeout_seconds": 5.0}
        yield [
            Side(POSTGRES, opened.enter_context(bench.server.create_database()), alone),
            Side(REDIS, opened.enter_context(bench.server.create_database()), fast),
            Side(WITH_WORKER, opened.enter_context(bench.server.create_database()), fast, worker=True),
            Side(BATCHED, opened.enter_context(bench.server.create_database()), {}),
        ]


async def _hot(side: Side, scale: Scale) -> None:
    async with side.open() as conversation:
        await _drive(side, conversation, scale.seconds / 5)
        gc.collect()
        began = time.perf_counter()
        side.turns.append(await _drive(side, conversation, scale.seconds))
        side.seconds.append(time.perf_counter() - began)


async def _drive(side: Side, conversation: Conversation, seconds: float) -> list[float]:
    deadline = time.perf_counter() + seconds
    done = await asyncio.gather(
        *(_timed(lambda: side.append(conversation), deadline) for _ in range(WRITERS))
    )
    return [each for times in done for each in times]


async def _timed(call: Callable[[], Awaitable[object]], deadline: float) -> list[float]:
    times: list[float] = []
    while (began := time.perf_counter()) < deadline or not times:
        await call()
        times.append(time.perf_counter() - began)
    return times


async def _compare_reserve(side: Side, scale: Scale) -> None:
    """Time appends and reservations of one caller in turns, so that a slow moment affects both."""
    appends: list[float] = []
    reserves: list[float] = []
    async with side.open() as conversation:
        deadline = time.perf_counter() + scale.seconds
        while time.perf_counter() < deadline or len(reserves) < 10:
            appends += await _timed(lambda: side.append(conversation), 0)
            reserves += await _timed(lambda: conversation.reserve(RESERVED), 0)
    side.appends.append(median(appends))
    side.reserves.append(median(reserves))


async def _check(side: Side) -> None:
    found = int((await fetch(side.database.url, "count_events"))[0][0])
    if found != side.claimed:
        raise RuntimeError(f"{side.name} appended {side.claimed} events, {found} are stored")


def _tables(sides: dict[str, Side]) -> list[Table]:
    rows = [
        (
            name,
            str(
                _ratio([side.rate(n) for n in _turns(side)], [sides[POSTGRES].rate(n) for n in _turns(side)])
            ),
            str(_ratio([side.p99(n) for n in _turns(side)], [sides[POSTGRES].p99(n) for n in _turns(side)])),
            f"{median(side.rate(n) for n in _turns(side)):,.0f}",
            f"{median(side.p99(n) for n in _turns(side)) * 1e3:.1f}",
        )
        for name, side in sides.items()
    ]
    columns = ("lane", f"events, times {POSTGRES}", "p99, times it", "this run: events/s", "this run: p99 ms")
    reserve_rows = [
        (name, str(_ratio(side.reserves, side.appends)), f"{median(side.reserves) * 1e6:,.0f}",
         f"{median(side.appends) * 1e6:,.0f}")
        for name, side in sides.items() if side.reserves
    ]  # fmt: skip
    titles = ("lane", "time of a reservation, times an append", "this run: reserve µs", "this run: append µs")
    return [
        Table(f"Lanes, one hot conversation, {WRITERS} writers one by one", columns, rows),
        Table(f"Reserving {RESERVED} numbers, one caller", titles, reserve_rows),
    ]


def _targets(sides: dict[str, Side]) -> list[Target]:
    fast, slow = sides[REDIS], sides[POSTGRES]
    rates = _ratio([fast.rate(n) for n in _turns(fast)], [slow.rate(n) for n in _turns(slow)])
    waits = _ratio([fast.p99(n) for n in _turns(fast)], [slow.p99(n) for n in _turns(slow)])
    return [
        at_least("Hot conversation, Redis lane", 1.2, rates, POSTGRES),
        _at_most("Hot conversation, Redis lane, p99", 0.5, waits, POSTGRES),
        *(
            _at_most(
                f"reserve({RESERVED}), {side.name}", 0.75, _ratio(side.reserves, side.appends), "an append"
            )
            for side in (slow, fast)
        ),
    ]


def _at_most(name: str, required: float, measured: Spread, against: str) -> Target:
    return Target(name, f"≤ {required:g} × {against}", f"{measured}", passed=measured.middle <= required)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def _turns(side: Side) -> range:
    return range(len(side.turns))


def _figures(sides: Sequence[Side]) -> dict[str, object]:
    return {
        side.name: {
            "rates": [side.rate(n) for n in _turns(side)],
            "p99": [side.p99(n) for n in _turns(side)],
            "reserves": side.reserves,
            "appends": side.appends,
            "claimed": side.claimed,
        }
        for side in sides
    }


@asynccontextmanager
async def _background(work: Callable[[], Awaitable[None]] | None) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work()) if work else None
    try:
        yield
    finally:
        if task:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
