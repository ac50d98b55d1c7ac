"""The queue beside its peers: emptied by one worker, filled with the event itself, behind a hot document."""

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
    Crew,
    Foja,
    PgQueuer,
    Procrastinate,
    documents,
)
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, spread
from bench.place import Room

CALLERS = 16
DRAINED, ASKED, OTHERS, HOT = 2_500, 1_500, 2_500, 1_000  # per second of a turn
PATIENCE = 60.0
Do = Callable[[Bench, "Side"], Awaitable[None]]


@dataclass
class Side:
    """One queue in a room of its own, and what it did, turn by turn."""

    crew: Crew
    room: Room
    drained: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    hot: list[float] = field(default_factory=list)
    others_share: list[float] = field(default_factory=list)
    claimed: int = 0

    @property
    def name(self) -> str:
        return self.crew.name


async def run(bench: Bench) -> Outcome:
    """Measure the three works, every queue in turn."""
    crews: list[Crew] = [Foja(), Foja(micro_batch=False), PgQueuer(10), PgQueuer(100), Procrastinate()]
    with ExitStack() as rooms:
        sides = await _sides(bench, rooms, crews)
        drained = _some(sides, FOJA, PGQUEUER, PGQUEUER_100, PROCRASTINATE)
        asked = _some(sides, FOJA, ONE_BY_ONE, PGQUEUER, PROCRASTINATE)
        hot = _some(sides, FOJA, PROCRASTINATE)
        await _race(bench, drained, _drain, bench.scale.rounds)
        await _race(bench, hot, _hot, 1)
        await _race(bench, asked, _ask, bench.scale.rounds)
        await _check(sides.values())
    await _hot_again(bench, hot)
    return Outcome(
        [_drain_table(drained), _ask_table(asked), _hot_table(hot)],
        [*_drain_targets(drained), *_ask_targets(asked), *_hot_targets(hot)],
        _figures(drained, asked, hot),
    )


async def _sides(bench: Bench, rooms: ExitStack, crews: Sequence[Crew]) -> dict[str, Side]:
    sides = [Side(crew, rooms.enter_context(bench.place.room())) for crew in crews]
    for side in sides:
        await side.crew.create(side.room)
    return {side.name: side for side in sides}


def _some(sides: dict[str, Side], *names: str) -> dict[str, Side]:
    return {name: sides[name] for name in names}


async def _race(bench: Bench, sides: dict[str, Side], work: Do, rounds: int) -> None:
    for turn in range(rounds):
        for side in random.sample(list(sides.values()), len(sides)):
            bench.say(f"jobs · round {turn + 1} of {rounds} · {side.name}")
            await work(bench, side)


async def _hot_again(bench: Bench, sides: dict[str, Side]) -> None:
    """Race behind a hot document in new rooms every round: what one leaves must not slow the next."""
    for _ in range(bench.scale.rounds - 1):
        with ExitStack() as rooms:
            fresh = await _sides(bench, rooms, [Foja(), Procrastinate()])
            await _race(bench, fresh, _hot, 1)
        for name, side in fresh.items():
            sides[name].hot += side.hot
            sides[name].others_share += side.others_share


async def _check(sides: Iterable[Side]) -> None:
    for side in sides:
        found = await side.crew.count()
        if found < side.claimed:
            raise RuntimeError(f"{side.name} says it did {side.claimed} jobs, {found} are there")


async def _drain(bench: Bench, side: Side) -> None:
    """Empty the queue with one worker."""
    slow = 10 if side.name == PROCRASTINATE else 1
    count = max(50, int(DRAINED * bench.scale.seconds) // slow)
    await side.crew.fill(documents(count), in_order=False)
    _settle(bench, side)
    gc.collect()
    began = time.perf_counter()
    done = await side.crew.drain(PATIENCE)
    side.drained.append(done / (time.perf_counter() - began))
    side.claimed += done
    if done < count:
        raise RuntimeError(f"{side.name} did {done} of {count} jobs in {PATIENCE:g} s")


async def _ask(bench: Bench, side: Side) -> None:
    """Write events, each with its job in the same transaction, from sixteen callers."""
    wanted = documents(max(64, int(ASKED * bench.scale.seconds)))
    async with side.crew.asking(CALLERS, wanted) as call:
        _settle(bench, side)
        left = iter(wanted)

        async def caller(n: int) -> None:
            for document in left:
                await call(n, document)

        gc.collect()
        began = time.perf_counter()
        await asyncio.gather(*map(caller, range(CALLERS)))
        await side.crew.enlist()
        side.asked.append(len(wanted) / (time.perf_counter() - began))
    side.claimed += len(wanted)


async def _hot(bench: Bench, side: Side) -> None:
    """Work for a while on a queue with one document's long line in front of many others."""
    [front], others = documents(1), documents(max(50, int(OTHERS * bench.scale.seconds)))
    await side.crew.fill([front] * max(50, int(HOT * bench.scale.seconds)), in_order=True)
    await side.crew.fill(others, in_order=True)
    _settle(bench, side)
    began = time.perf_counter()
    done = await side.crew.drain(bench.scale.seconds * 2)
    side.hot.append(done / (time.perf_counter() - began))
    side.others_share.append(await side.crew.share_done(others))


def _settle(bench: Bench, side: Side) -> None:
    """Vacuum, unless the turn is too short to mean anything."""
    if bench.scale.seconds >= 1:
        bench.place.settle(side.room)


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
            side.crew.note,
        )
        for name, side in sides.items()
    ]
    return Table("Jobs that do nothing, emptied by one worker", columns, rows)


def _ask_table(sides: dict[str, Side]) -> Table:
    columns = ("queue", f"times {PROCRASTINATE}", "this run: events with a job/s", "note")
    rows = [
        (
            name,
            str(_ratio(side.asked, sides[PROCRASTINATE].asked)),
            f"{median(side.asked):,.0f}",
            side.crew.note,
        )
        for name, side in sides.items()
    ]
    return Table(f"An event and its job in one transaction, {CALLERS} callers", columns, rows)


def _hot_table(sides: dict[str, Side]) -> Table:
    columns = ("queue", f"times {PROCRASTINATE}", "others done in that time", "this run: jobs/s")
    rows = [
        (
            name,
            str(_ratio(side.hot, sides[PROCRASTINATE].hot)),
            f"{median(side.others_share):.0%}",
            f"{median(side.hot):,.0f}",
        )
        for name, side in sides.items()
    ]
    return Table("One hot document in front of many others, one job of a document at a time", columns, rows)


def _drain_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA].drained
    return [
        at_least("Jobs emptied, one event each", 1.5, _ratio(ours, sides[PGQUEUER].drained), PGQUEUER),
        at_least(
            "Jobs emptied, one event each", 0.8, _ratio(ours, sides[PGQUEUER_100].drained), PGQUEUER_100
        ),
        at_least(
            "Jobs emptied, one event each", 10, _ratio(ours, sides[PROCRASTINATE].drained), PROCRASTINATE
        ),
    ]


def _ask_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA].asked
    return [
        at_least(
            f"Event and job in one transaction, {CALLERS} callers", 1.5, _ratio(ours, sides[peer].asked), peer
        )
        for peer in (PGQUEUER, PROCRASTINATE)
    ]


def _hot_targets(sides: dict[str, Side]) -> list[Target]:
    ours = sides[FOJA]
    share = min(ours.others_share)
    return [
        at_least("One hot document in front", 5, _ratio(ours.hot, sides[PROCRASTINATE].hot), PROCRASTINATE),
        Target(
            "Others done while the hot document's line is long", "100 %", f"{share:.0%}", passed=share == 1
        ),
    ]


def _figures(drained: dict[str, Side], asked: dict[str, Side], hot: dict[str, Side]) -> dict[str, object]:
    return {
        "drained": {name: side.drained for name, side in drained.items()},
        "asked": {name: side.asked for name, side in asked.items()},
        "hot": {name: {"rates": side.hot, "others": side.others_share} for name, side in hot.items()},
    }
