"""Appends: many streams, one hot stream, batches."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.contenders import (
    FOJA,
    MANY,
    ONE_BY_ONE,
    OWN,
    RAW,
    all_contenders,
    batch_contenders,
    body_contenders,
    hot_contenders,
    ours,
    raw,
    remarks,
)
from bench.contenders.messagedb import MESSAGE_DB
from bench.contenders.payloads import ANSWER, MESSAGE, TOOL_RESULT
from bench.harness import Bench, Contender, Race, Workload, check_counts, entrants, race
from bench.outcome import Outcome, Table, Target, at_least

WRITERS = 4


async def many_entities(bench: Bench) -> Outcome:
    """Append to existing streams, with few and with many callers."""
    loads = [Workload(f"Appends, many entities, {_callers(n)}", n) for n in bench.scale.callers]
    contenders = all_contenders()
    races, counts = await _run(bench, loads, contenders, bench.scale.streams)
    tables = [_table(each, FOJA) for each in races]
    targets = _alone_targets(races[0]) + _targets(races[-1])
    return Outcome(tables, targets, _figures(races, counts), remarks(contenders))


async def hot_entity(bench: Bench) -> Outcome:
    """Append to one stream with many callers."""
    most = bench.scale.callers[-1]
    workload = Workload(f"Appends, one hot entity, {_callers(most)}", most, hot=True)
    [hot], counts = await _run(bench, [workload], hot_contenders(), 1)
    peer = hot.best_peer(lossless=False)
    target = at_least(workload.title, 8, hot.ratio(FOJA, peer), f"the best peer ({peer})")
    return Outcome([_table(hot, FOJA)], [target], _figures([hot], counts))


async def bodies(bench: Bench) -> Outcome:
    """Append the bodies that users write, to many streams and to one hot stream."""
    most = bench.scale.callers[-1]
    many = Workload(f"Bodies, many entities, {_callers(most)}", most)
    hot = Workload(f"Bodies, one hot entity, {_callers(most)}", most, hot=True)
    races, counts = await _run(bench, [many, hot], body_contenders(), bench.scale.streams)
    targets = []
    for found in races:
        for body in (ANSWER, TOOL_RESULT):
            name = f"{found.workload.title}, {body.name}"
            targets.append(at_least(name, 0.7, found.ratio(ours(body), ours(MESSAGE)), ours(MESSAGE)))
            if found.workload is many:
                targets.append(at_least(name, 1.2, found.ratio(ours(body), raw(body)), raw(body)))
    return Outcome(
        [_table(each, ours(MESSAGE), raw(MESSAGE)) for each in races], targets, _figures(races, counts)
    )


async def batches(bench: Bench) -> Outcome:
    """Append many events of one stream in one call."""
    size = bench.scale.batch
    workload = Workload(f"Batches, {size} events of one stream per call, {_callers(WRITERS)}", WRITERS, size)
    races, counts = await _run(bench, [workload], batch_contenders(), bench.scale.streams)
    remark = "message-db writes one message per call, so it has no batches."
    return Outcome([_table(races[0], MANY)], (), _figures(races, counts), [remark])


async def _run(
    bench: Bench, loads: Sequence[Workload], contenders: Sequence[Contender], streams: int
) -> tuple[list[Race], dict[str, dict[str, int]]]:
    async with entrants(bench, contenders, streams) as entered:
        races = [await race(bench, workload, entered) for workload in loads]
        return races, await check_counts(entered)


def _alone_targets(first: Race) -> list[Target]:
    """Return the target of a single caller, if its peer was installed."""
    if MESSAGE_DB not in first.rates:
        return []
    return [at_least(first.workload.title, 0.9, first.ratio(FOJA, MESSAGE_DB), MESSAGE_DB)]


def _targets(last: Race) -> list[Target]:
    peer = last.best_peer(lossless=True)
    return [
        at_least(last.workload.title, 1.5, last.ratio(FOJA, RAW), RAW),
        at_least(last.workload.title, 2, last.ratio(FOJA, peer), f"the best lossless peer ({peer})"),
        at_least(f"{last.workload.title}, no micro-batching", 0.7, last.ratio(ONE_BY_ONE, RAW), RAW),
        at_least(f"{last.workload.title}, own domain", 1 / 1.10, last.ratio(OWN, FOJA), FOJA),
    ]


def _table(found: Race, ours: str, baseline: str = RAW) -> Table:
    columns = ("contender", f"times {baseline}", f"times {ours}", "lossless", "this run: events/s", "note")
    return Table(
        found.workload.title,
        columns,
        [
            (
                each.name,
                str(found.ratio(each.name, baseline)),
                str(found.ratio(each.name, ours)),
                "yes" if each.lossless else "no",
                f"{median(found.rates[each.name]):,.0f}",
                each.note,
            )
            for each in found.contenders
        ],
    )


def _figures(races: Sequence[Race], counts: dict[str, dict[str, int]]) -> dict[str, object]:
    return {"rates": {each.workload.title: each.rates for each in races}, "counts": counts}


def _callers(number: int) -> str:
    return f"{number} caller{'s' * (number > 1)}"
