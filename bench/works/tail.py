"""Tail readers while others write: what was committed and never seen?

A peer is read as it offers itself, by a position that only grows. We are read
by following the log, with a worker beside, and by following every stream.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bench.contenders import ABSENT, RAW
from bench.contenders.connections import ask
from bench.contenders.eventsourced import EventSourcing
from bench.contenders.messagedb import MessageDb, obtain
from bench.contenders.ours import Foja
from bench.contenders.raw import Raw
from bench.harness import Bench, Contender, Entrant, Work, check, drive, entrants
from bench.outcome import Outcome, Table, Target
from foja.ledger.event import Reset, StreamItem

STREAMS, PAGE, ALL = 8, 1_000, 2**31 - 1
# Seconds without anything new, after which a reader has seen what it will ever see.
POLLED, FOLLOWED = 0.5, 10.0
Seen = list[object]


class Polled(Contender, Protocol):
    """A contender that is read by asking for what comes after a position."""

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the next positions."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A way of reading a contender, and what there was to read."""

    name: str
    contender: Contender
    read: Callable[[Seen], Awaitable[None]]
    everything: Callable[[], Awaitable[set[object]]]
    patience: float


@dataclass(frozen=True, slots=True)
class Catch:
    """What one tail reader was given."""

    tail: Tail
    written: int
    missed: int
    repeated: int


async def run(bench: Bench) -> Outcome:
    """Write and read at the same time, one contender after the other."""
    catches = []
    for tail in _tails():
        bench.say(f"tail readers · {tail.name}")
        async with entrants(bench, [tail.contender], STREAMS) as [entrant]:
            catches.append(await _catch(tail, entrant, bench))
            await check([entrant])
    remarks = [] if obtain() else [ABSENT]
    return Outcome([_table(catches)], _targets(catches), _figures(catches), remarks)


def _tails() -> list[Tail]:
    peers: list[Polled] = [Raw(RAW), EventSourcing(functions=False), EventSourcing(functions=True)]
    if scripts := obtain():
        peers += [MessageDb(scripts, one_category=True), MessageDb(scripts, one_category=False)]
    return [
        _follow_log(Foja("foja, the log", worker=True)),
        _follow_log(Foja("foja, the log, no micro-batching", micro_batch=False, worker=True)),
        _follow_streams(Foja("foja, every stream")),
        _follow_streams(Foja("foja, every stream, no micro-batching", micro_batch=False)),
        *map(_poll, peers),
    ]


async def _catch(tail: Tail, entrant: Entrant, bench: Bench) -> Catch:
    work = Work(tail.name, bench.scale.callers[1])
    seen: Seen = []
    await tail.contender.open(work.callers + 1)
    try:
        reading = asyncio.ensure_future(tail.read(seen))
        await drive(work, entrant, bench.scale.seconds, 1)
        written = await tail.everything()
        await _drain(reading, seen, len(written), tail.patience)
    finally:
        await tail.contender.close()
    return Catch(tail, len(written), len(written - set(seen)), len(seen) - len(set(seen)))


async def _drain(reading: asyncio.Future[None], seen: Seen, written: int, patience: float) -> None:
    """Wait until the reader has everything, or has found nothing for a while; then end it."""
    clock = asyncio.get_running_loop().time
    before, moved = 0, clock()
    while len(seen) < written and clock() - moved < patience and not reading.done():
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

    return Tail(peer.name, peer, read, everything, POLLED)


def _follow_log(ours: Foja) -> Tail:
    async def read(seen: Seen) -> None:
        await _note(ours.app.ledger.log.follow(None), seen)

    return Tail(ours.name, ours, read, lambda: _places(ours), FOLLOWED)


def _follow_streams(ours: Foja) -> Tail:
    async def read(seen: Seen) -> None:
        await asyncio.gather(*(_note(talk.follow(), seen) for talk in ours.talks))

    return Tail(ours.name, ours, read, lambda: _places(ours), FOLLOWED)


async def _note(events: AsyncIterator[StreamItem], seen: Seen) -> None:
    async for event in events:
        if isinstance(event, Reset):
            raise RuntimeError(f"a reader that stayed was told to start again: {event.reason}")
        seen.append((event.entity_id, event.seq))


async def _places(ours: Foja) -> set[object]:
    return set(await ask(ours.room.url, "places"))


def _table(catches: list[Catch]) -> Table:
    rows = [
        (
            each.tail.name,
            f"{each.missed:,}",
            f"{each.missed / each.written:.2%}",
            f"{each.repeated:,}",
            f"{each.written:,}",
        )
        for each in catches
    ]
    columns = ("reader", "missed", "share missed", "seen twice", "this run: events")
    return Table("Tail readers during writes", columns, rows)


def _targets(catches: list[Catch]) -> list[Target]:
    missed = sum(each.missed for each in catches if each.tail.contender.role == "ours")
    return [Target("Missed events in every tail test of foja", "0", f"{missed}", passed=missed == 0)]


def _figures(catches: list[Catch]) -> dict[str, object]:
    return {each.tail.name: {"written": each.written, "missed": each.missed} for each in catches}
