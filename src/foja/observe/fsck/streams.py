"""All streams, one after the other: three sorted streams of rows read side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from foja.observe.fsck.context import CheckContext
from foja.observe.fsck.rows import Ahead, EventRow, PlaceRow, StreamRow
from foja.observe.fsck.stream import Rules, StreamCheck

Item = TypeVar("Item", StreamRow, EventRow, PlaceRow)
Numbered = TypeVar("Numbered", EventRow, PlaceRow)
Look = Callable[[int, Sequence[EventRow], Sequence[PlaceRow]], None]


def _pass(_seq: int, _sheets: Sequence[EventRow], _places: Sequence[PlaceRow]) -> None:
    """Be the look of whoever does not want one."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is recorded, in the order of streams and numbers."""

    streams: Ahead[StreamRow]
    sheets: Ahead[EventRow]
    places: Ahead[PlaceRow]

    def next_stream(self) -> UUID | None:
        """Return the stream that anything is recorded about next."""
        heads = (self.streams.next, self.sheets.next, self.places.next)
        return min((head.entity_id for head in heads if head), default=None)

    def next_seq(self, entity_id: UUID) -> int | None:
        """Return the next number of a stream that anything is recorded about."""
        heads = (self.sheets.next, self.places.next)
        return min((head.seq for head in heads if head and head.entity_id == entity_id), default=None)


async def check_streams(
    case: CheckContext, rules: Rules, *, only: UUID | None = None, look: Look = _pass
) -> None:
    """Check every stream that any table knows of, or one; `look` is shown each of its events."""
    async with AsyncExitStack() as cursors:
        rows = Rows(
            await _read(case, cursors, "fsck_entities", StreamRow, only),
            await _read(case, cursors, "fsck_events", EventRow, only),
            await _read(case, cursors, "fsck_places", PlaceRow, only),
        )
        while entity_id := rows.next_stream():
            await _check_stream(case, rules, rows, entity_id, look)


async def _check_stream(case: CheckContext, rules: Rules, rows: Rows, entity_id: UUID, look: Look) -> None:
    owner = rows.streams.next
    known = await rows.streams.take() if owner and owner.entity_id == entity_id else None
    check = StreamCheck(entity_id, known, rules, case.findings)
    case.findings.counts["streams"] += 1
    while (seq := rows.next_seq(entity_id)) is not None:
        sheets = await _take(rows.sheets, entity_id, seq)
        places = await _take(rows.places, entity_id, seq)
        check.check(seq, sheets, places)
        look(seq, sheets, places)
        case.findings.counts["events"] += len(sheets)
        case.meter.tick(len(sheets))
    check.end()


async def _take(rows: Ahead[Numbered], entity_id: UUID, seq: int) -> list[Numbered]:
    """Return all rows of one number: usually one, a few after a restart of the log."""
    taken = []
    while (head := rows.next) is not None and head.seq == seq and head.entity_id == entity_id:
        taken.append(await rows.take())
    return taken


async def _read(
    case: CheckContext, cursors: AsyncExitStack, query: str, kind: Callable[..., Item], only: UUID | None
) -> Ahead[Item]:
    rows = await cursors.enter_async_context(aclosing(case.moment.rows(query, only=only)))
    return await Ahead.of(kind(*row) async for row in rows)
