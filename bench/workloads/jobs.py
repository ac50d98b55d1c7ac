"""Job queues: one worker drains them, callers enqueue with an event, a hot document waits in front."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from bench.contenders.queues import (
    FOJA,
    ONE_BY_ONE,
    PGQUEUER,
    PGQUEUER_100,
    PROCRASTINATE,
    Foja,
    JobQueue,
    PgQueuer,
    Procrastinate,
    documents,
)
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, spread

CALLERS = 16
DRAINED, ENQUEUED, OTHERS, HOT = 2_500, 1_500, 2_500, 1_000  # per second of a turn
TIMEOUT_SECONDS = 60.0
Measure = Callable[[Bench, "Side"], Awaitable[None]]


@dataclass
class Side:
    """One queue with its own database, and its rates per turn."""

    queue: JobQueue
    database: BenchDatabase
    drained: list[float] = field(default_factory=list)
    enqueued: list[float] = field(default_factory=list)
    hot: list[float] = field(default_factory=list)
    others_share: list[float] = field(default_factory=list)
    claimed: int = 0

    @property
    def name(self) -> str:
        return self.queue.name


async def run(bench: Bench) -> Outcome:
    """Measure the three workloads, with every queue in turn."""
    queues: list[JobQueue] = [Foja(), Foja(micro_batch=False), PgQueuer(10), PgQueuer(100), Procrastinate()]
    with ExitStack() as databases:
        sides = await _sides(bench, databases, queues)
        drained = _some(sides, FOJA, PGQUEUER, PGQUEUER_100, PROCRASTINATE)
        enqueued = _some(sides, FOJA, ONE_BY_ONE, PGQUEUER, PROCRASTINATE)
        hot = _some(sides, FOJA, PROCRASTINATE)
        await _race(bench, drained, _drain, bench.scale.rounds)
        await _race(bench, hot, _hot, 1)
        await _race(bench, enqueued, _enqueue, bench.scale.rounds)
        await _check(sides.values())
    await _hot_again(bench, hot)
    return Outcome(
        [_drain_table(drained), _enqueue_table(enqueued), _hot_table(hot)],
        [*_drain_targets(drained), *_enqueue_targets(enqueued), *_hot_targets(hot)],
        _figures(drained, enqueued, hot),
    )


async def _sides(bench: Bench, databases: ExitStack, queues: Sequence[JobQueue]) -> dict[str, Side]:
    sides = [Side(queue, databases.enter_context(bench.server.create_database())) for queue in queues]
    for side in sides:
        await side.queue.create(side.database)
    return {side.name: side for side in sides}


def _some(sides: dict[str, Side], *names: str) -> dict[str, Side]:
    return {name: sides[name] for name in names}


async def _race(bench: Bench, sides: dict[str, Side], measure: Measure, rounds: int) -> None:
    for turn in range(rounds):
        for side in random.sample(list(sides.values()), len(sides)):
            bench.show_status(f"jobs · round {turn + 1} of {rounds} · {side.name}")
            await measure(bench, side)


async def _hot_again(bench: Bench, sides: dict[str, Side]) -> None:
    """Repeat the hot document in new databases: remaining jobs must not slow the next round."""
    for _ in range(bench.scale.rounds - 1):
        with ExitStack() as databases:
            fresh = await _sides(bench, databases, [Foja(), Procrastinate()])
            await _race(bench, fresh, _hot, 1)
        for name, side in fresh.items():
            sides[name].hot += side.hot
            sides[name].others_share += side.others_share


async def _check(sides: Iterable[Side]) -> None:
    for side in sides:
        found = await side.queue.count()
        if found < side.claimed:
            raise RuntimeError(f"{side.name} completed {side.claimed} jobs, {found} are stored")


async def _drain(bench: Bench, side: Side) -> None:
    """Drain the queue with one worker."""
    slow = 10 if side.name == PROCRASTINATE else 1
    count = max(50, int(DRAINED * bench.scale.seconds) // slow)
    await side.queue.fill(documents(count), in_order=False)
    _vacuum(bench, side)
    gc.collect()
    began = time.perf_counter()
    done = await side.queue.drain(TIMEOUT_SECONDS)
    side.drained.append(done / (time.perf_counter() - began))
    side.claimed += done
    if done < count:
        raise RuntimeError(f"{side.name} completed {done} of {count} jobs in {TIMEOUT_SECONDS:g} s")


async def _enqueue(bench: Bench, side: Side) -> None:
    """Write events, each with its job in one transaction, from sixteen callers."""
    ids = documents(max(64, int(ENQUEUED * bench.scale.seconds)))
    async with side.queue.open_callers(CALLERS, ids) as call:
        _vacuum(bench, side)
        remaining = iter(ids)

        async def caller(n: int) -> None:
            for document in remaining:
                await call(n, document)

        gc.collect()
        began = time.perf_counter()
        await asyncio.gather(*map(caller, range(CALLERS)))
        await side.queue.queue_woken()
        side.enqueued.append(len(ids) / (time.perf_counter() - began))
    side.claimed += len(ids)


async def _hot(bench: Bench, side: Side) -> None:
    """Drain for a while a queue with many jobs of one document in front of other documents."""
    [front], others = documents(1), documents(max(50, int(OTHERS * bench.scale.seconds)))
    await side.queue.fill([front] * max(50, int(HOT * bench.scale.seconds)), in_order=True)
    await side.queue.fill(others, in_order=True)
    _vacuum(bench, side)
    began = time.perf_counter()
    done = await side.queue.drain(bench.scale.seconds * 2)
    side.hot.append(done / (time.perf_counter() - began))
    side.others_share.append(await side.queue.share_done(others))


def _vacuum(bench: Bench, side: Side) -> None:
    """Vacuum, except in turns that are too short to measure anything."""
    if bench.scale.seconds >= 1:
        bench.server.vacuum(side.database)


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _drain_table(sides: dict[str, Side]) -> Table:
    columns = ("queue", f"times {PGQUEUER}", f"times {PGQUEUER_100}", "this run: jobs/s", "note")
    rows = [
        (
            name,
            str(_ratio(side.drained, sides[PGQUEUER].drained)),
            str(_ratio(side.drained, sides[PGQUEUER_100].drained)),
            f"{median(side.drained):,.0f}",
            side.queue.note,
        )
        for name, side in sides.items()
    ]
    return Table("Jobs that do nothing, drained by one worker", columns, rows)


def _enqueue_table(sides: dict[str, Side]) -> Table:
    columns = ("queue", f"times {PROCRASTINATE}", "this run: events with a job/s", "note")
    rows = [
        (
            name,
            str(_ratio(side.enqueued, sides[PROCRASTINATE].enqueued)),
            f"{median(side.enqueued):,.0f}",
            side.queue.note,
        )
        for name, side in sides.items()
    ]
    return Table(f"An event and its job in one transaction, {CALLERS} callers", columns, rows)


def _hot_table(sides: dict[str, Side]) -> Table:
    columns = ("queue", f"times {PROCRASTINATE}", "other documents completed", "this run: jobs/s")
    rows = [
        (
            name,
            str(_ratio(side.hot, sides[PROCRASTINATE].hot)),
            f"{median(side.others_share):.0%}",
            f"{median(side.hot):,.0f}",
        )
        for name, side in sides.items()
    ]
    return Table("One hot document in front of many others, one job per document at a time", columns, rows)


def _drain_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA].drained
    return [
        at_least("Jobs drained, one event each", 1.5, _ratio(ours, sides[PGQUEUER].drained), PGQUEUER),
        at_least(
            "Jobs drained, one event each", 0.8, _ratio(ours, sides[PGQUEUER_100].drained), PGQUEUER_100
        ),
        at_least(
            "Jobs drained, one event each", 10, _ratio(ours, sides[PROCRASTINATE].drained), PROCRASTINATE
        ),
    ]


def _enqueue_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA].enqueued
    return [
        at_least(
            f"Event and job in one transaction, {CALLERS} callers",
            1.5,
            _ratio(ours, sides[peer].enqueued),
            peer,
        )
        for peer in (PGQUEUER, PROCRASTINATE)
    ]


def _hot_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA]
    share = min(ours.others_share)
    return [
        at_least("One hot document in front", 5, _ratio(ours.hot, sides[PROCRASTINATE].hot), PROCRASTINATE),
        Target(
            "Other documents completed while the hot one still has jobs",
            "100 %",
            f"{share:.0%}",
            passed=share == 1,
        ),
    ]


def _figures(drained: dict[str, Side], enqueued: dict[str, Side], hot: dict[str, Side]) -> dict[str, object]:
    return {
        "drained": {name: side.drained for name, side in drained.items()},
        "asked": {name: side.enqueued for name, side in enqueued.items()},
        "hot": {name: {"rates": side.hot, "others": side.others_share} for name, side in hot.items()},
    }
