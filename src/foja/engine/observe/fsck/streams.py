"""Check all streams, one after the other, by a merge of three sorted row sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from foja.engine.observe.fsck.context import CheckContext
from foja.engine.observe.fsck.rows import Ahead, EventRow, PlaceRow, StreamRow
from foja.engine.observe.fsck.stream import Rules, StreamCheck

Item = TypeVar("Item", StreamRow, EventRow, PlaceRow)
Numbered = TypeVar("Numbered", EventRow, PlaceRow)
Visit = Callable[[int, Sequence[EventRow], Sequence[PlaceRow]], None]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows to check, in the order of streams and numbers."""

    streams: Ahead[StreamRow]
    events: Ahead[EventRow]
    places: Ahead[PlaceRow]

    def next_stream(self) -> UUID | None:
        """Return the next stream with any row."""
        heads = (self.streams.next, self.events.next, self.places.next)
        return min((head.entity_id for head in heads if head), default=None)

    def next_seq(self, entity_id: UUID) -> int | None:
        """Return the next number of a stream with any row."""
        heads = (self.events.next, self.places.next)
        return min((head.seq for head in heads if head and head.entity_id == entity_id), default=None)


async def check_streams(
    context: CheckContext, rules: Rules, *, only: UUID | None = None, visit: Visit | None = None
) -> None:
    """Check every stream that any table names, or only one. Call `visit` for each number."""
    async with AsyncExitStack() as cursors:
        rows = Rows(
            await _read(context, cursors, "fsck_entities", StreamRow, only),
            await _read(context, cursors, "fsck_events", EventRow, only),
            await _read(context, cursors, "fsck_places", PlaceRow, only),
        )
        while entity_id := rows.next_stream():
            await _check_stream(context, rules, rows, entity_id, visit)


async def _check_stream(
    context: CheckContext, rules: Rules, rows: Rows, entity_id: UUID, visit: Visit | None
) -> None:
    head = rows.streams.next
    stream = await rows.streams.take() if head and head.entity_id == entity_id else None
    check = StreamCheck(entity_id, stream, rules, context.findings)
    context.findings.counts["streams"] += 1
    while (seq := rows.next_seq(entity_id)) is not None:
        events = await _take(rows.events, entity_id, seq)
        places = await _take(rows.places, entity_id, seq)
        check.check(seq, events, places)
        if visit:
            visit(seq, events, places)
        context.findings.counts["events"] += len(events)
        context.meter.tick(len(events))
    check.end()


async def _take(rows: Ahead[Numbered], entity_id: UUID, seq: int) -> list[Numbered]:
    """Return all rows of one number: usually one, or a few after a restart of the log."""
    taken = []
    while (head := rows.next) is not None and head.seq == seq and head.entity_id == entity_id:
        taken.append(await rows.take())
    return taken


async def _read(
    context: CheckContext, cursors: AsyncExitStack, query: str, kind: type[Item], only: UUID | None
) -> Ahead[Item]:
    return await Ahead.of(
        await cursors.enter_async_context(aclosing(context.moment.rows(query, kind, only=only)))
    )
