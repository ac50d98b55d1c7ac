"""Readers that follow all events while others write: how many events do they miss?

A peer is read by its own growing position. Foja is read by following the log, with a worker, and by
following every stream.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bench.contenders import ABSENT, RAW
from bench.contenders.connections import fetch
from bench.contenders.eventsourcing_recorder import EventSourcing
from bench.contenders.foja_ledger import Foja
from bench.contenders.messagedb import MessageDb, find_scripts
from bench.contenders.raw import Raw
from bench.harness import Bench, Contender, Entrant, Workload, check_counts, drive, entrants
from bench.outcome import Outcome, Table, Target
from foja.engine.ledger.event import Reset, StreamItem

STREAMS, PAGE, ALL = 8, 1_000, 2**31 - 1
# Seconds without a new event, after which a reader will see no more.
POLL_TIMEOUT, FOLLOW_TIMEOUT = 0.5, 10.0
Seen = list[object]


class Polled(Contender, Protocol):
    """A contender that is read by polling after a position."""

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the next positions."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A reader of a contender, and a query for everything there is to read."""

    name: str
    contender: Contender
    read: Callable[[Seen], Awaitable[None]]
    everything: Callable[[], Awaitable[set[object]]]
    timeout: float


@dataclass(frozen=True, slots=True)
class ReaderResult:
    """What one reader saw and missed."""

    tail: Tail
    written: int
    missed: int
    repeated: int


async def run(bench: Bench) -> Outcome:
    """Write and read at the same time, with one contender after the other."""
    results = []
    for tail in _tails():
        bench.show_status(f"readers · {tail.name}")
        async with entrants(bench, [tail.contender], STREAMS) as [entrant]:
            results.append(await _run_reader(tail, entrant, bench))
            await check_counts([entrant])
    remarks = [] if find_scripts() else [ABSENT]
    return Outcome([_table(results)], _targets(results), _figures(results), remarks)


def _tails() -> list[Tail]:
    peers: list[Polled] = [Raw(RAW), EventSourcing(functions=False), EventSourcing(functions=True)]
    if scripts := find_scripts():
        peers += [MessageDb(scripts, one_category=True), MessageDb(scripts, one_category=False)]
    return [
        _follow_log(Foja("foja, log", worker=True)),
        _follow_log(Foja("foja, log, no micro-batching", micro_batch=False, worker=True)),
        _follow_streams(Foja("foja, every stream")),
        _follow_streams(Foja("foja, every stream, no micro-batching", micro_batch=False)),
        *map(_poll, peers),
    ]


async def _run_reader(tail: Tail, entrant: Entrant, bench: Bench) -> ReaderResult:
    workload = Workload(tail.name, bench.scale.callers[1])
    seen: Seen = []
    await tail.contender.open(workload.callers + 1)
    try:
        reading = asyncio.ensure_future(tail.read(seen))
        await drive(workload, entrant, bench.scale.seconds, 1)
        written = await tail.everything()
        await _drain(reading, seen, len(written), tail.timeout)
    finally:
        await tail.contender.close()
    return ReaderResult(tail, len(written), len(written - set(seen)), len(seen) - len(set(seen)))


async def _drain(reading: asyncio.Future[None], seen: Seen, written: int, timeout: float) -> None:
    """Wait until the reader has everything, or nothing new for a while; then cancel it."""
    clock = asyncio.get_running_loop().time
    before, moved = 0, clock()
    while len(seen) < written and clock() - moved < timeout and not reading.done():
        if len(seen) > before:
            before, moved = len(seen), clock()
        await asyncio.sleep(0.02)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading


def _poll(peer: Polled) -> Tail:
    async def read(seen: Seen) -> None:
        last = 0
        while True:
            found = await peer.read_after(last, PAGE)
            seen += found
            last = found[-1] if found else last
            await asyncio.sleep(0 if found else 0.001)

    async def everything() -> set[object]:
        return set(await peer.read_after(0, ALL))

    return Tail(peer.name, peer, read, everything, POLL_TIMEOUT)


def _follow_log(ours: Foja) -> Tail:
    async def read(seen: Seen) -> None:
        await _collect(ours.app.ledger.log.follow(None), seen)

    return Tail(ours.name, ours, read, lambda: _stored_events(ours), FOLLOW_TIMEOUT)


def _follow_streams(ours: Foja) -> Tail:
    async def read(seen: Seen) -> None:
        await asyncio.gather(*(_collect(conversation.follow(), seen) for conversation in ours.streams))

    return Tail(ours.name, ours, read, lambda: _stored_events(ours), FOLLOW_TIMEOUT)


async def _collect(events: AsyncIterator[StreamItem], seen: Seen) -> None:
    async for event in events:
        if isinstance(event, Reset):
            raise RuntimeError(f"a connected reader got a reset: {event.reason}")
        seen.append((event.entity_id, event.seq))


async def _stored_events(ours: Foja) -> set[object]:
    return set(await fetch(ours.database.url, "places"))


def _table(results: list[ReaderResult]) -> Table:
    rows = [
        (
            each.tail.name,
            f"{each.missed:,}",
            f"{each.missed / each.written:.2%}",
            f"{each.repeated:,}",
            f"{each.written:,}",
        )
        for each in results
    ]
    columns = ("reader", "missed", "share missed", "seen twice", "this run: events")
    return Table("Readers of all events during writes", columns, rows)


def _targets(results: list[ReaderResult]) -> list[Target]:
    missed = sum(each.missed for each in results if each.tail.contender.role == "foja")
    return [Target("Missed events of all readers of foja", "0", f"{missed}", passed=missed == 0)]


def _figures(results: list[ReaderResult]) -> dict[str, object]:
    return {each.tail.name: {"written": each.written, "missed": each.missed} for each in results}
