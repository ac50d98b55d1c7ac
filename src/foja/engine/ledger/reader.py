"""Read a stream by range, and track how far it has no holes.

Two levels. *Committed* is everything, with a placeholder for an open slot;
*sealed* is the contiguous, chained prefix that decisions and proofs rest on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast
from uuid import UUID

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.ledger.event import MAX_SEQ, OPEN, Event, Reset
from foja.errors import CursorLost, WrongEntity
from foja.pure.core.fields import check_limit
from foja.pure.core.registry import Domain

HIGHEST = UUID(int=2**128 - 1)
NUMBER = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class StreamState:
    """The next number of a stream, how far it is sealed, and the epoch."""

    epoch: str
    next_seq: int
    sealed: int


class StreamRow(NamedTuple):
    """A stream as it is stored. One without events has no domain."""

    epoch: str
    next_seq: int
    sealed: int
    domain: str | None


class BodyRow(NamedTuple):
    """Number, kind and payload of an event."""

    seq: int
    kind: str
    payload: Any


class _Read:
    """An event while it is made of its row: one call for each, since a long stream has many thousands."""

    __slots__ = Event.__slots__

    def __init__(self, entity_id: UUID, epoch: str, row: Sequence[Any]) -> None:
        self.entity_id = entity_id
        seq, self.id, self.kind, self.v, self.at, self.actor, self.source, self.payload, self.body_hash = row
        self.seq = seq
        self.cursor = f"{epoch}:{seq}"
        self.replayed, self.result = False, None
        self.__class__ = Event  # type: ignore[assignment]  # the same slots


@dataclass(slots=True)
class Position:
    """What one reader has received: everything up to `head` except the holes."""

    epoch: str
    head: int = -1
    holes: set[int] = field(default_factory=set)

    @property
    def prefix(self) -> int:
        """The last number up to which nothing is missing."""
        return min(self.holes) - 1 if self.holes else self.head

    def lacks(self, seq: int, *, filled: bool) -> bool:
        """Return whether this number is new to the reader."""
        return seq > self.head or (filled and seq in self.holes)

    def take(self, seq: int, *, filled: bool) -> str | None:
        """Record one number as received and return its cursor."""
        self.holes.update(range(self.head + 1, seq))
        self.head = max(self.head, seq)
        if filled:
            self.holes.discard(seq)
        else:
            self.holes.add(seq)
        return f"{self.epoch}:{self.prefix}" if self.prefix >= seq else None

    def event_from(self, entity_id: UUID) -> Callable[[Sequence[Any]], Event]:
        """Return what makes an event of a row, with its cursor if nothing before it is missing."""
        return cast("Callable[[Sequence[Any]], Event]", partial(_Read, entity_id, self.epoch))

    def deliver(self, events: list[Event]) -> list[Event]:
        """Record events as received and return them with their cursors."""
        if self.holes or not _is_whole(events, self.head + 1):
            return [replace(each, cursor=self.take(each.seq, filled=each.kind != OPEN)) for each in events]
        self.head += len(events)
        return events


def _is_whole(events: Sequence[Event], first: int) -> bool:
    """Return whether these ordered events have no hole: nearly always."""
    return (
        bool(events)
        and events[0].seq == first
        and events[-1].seq == first + len(events) - 1
        and OPEN not in {each.kind for each in events}
    )


def parse_cursor(after: str | int | None) -> tuple[str | None, int]:
    """Return the epoch (None if not said) and the number of a cursor or seq."""
    if after is None:
        return None, -1
    if isinstance(after, int):
        return None, max(after, -1)
    epoch, _, number = after.partition(":")
    if not epoch or not NUMBER.fullmatch(number):
        raise CursorLost(f"{after!r} is not a cursor; use an event's .cursor, a number, or None")
    return epoch, int(number)


class StreamReader:
    """Reads the streams of one tenant."""

    def __init__(self, database: Database, tenant: str) -> None:
        self.tenant, self._database = tenant, database.of(tenant)
        self._domain: str | None = None  # whose streams it reads; None: of every domain

    async def ask(self, question: str, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Return the rows of a query about this tenant's streams."""
        return await self._database.rows(sql.query(question), of, tenant=self.tenant, **values)

    async def ask_many(self, question: str, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Return the rows of a query that may have thousands."""
        return await self._database.many(sql.query(question), of, tenant=self.tenant, **values)

    async def actors(self, entity_id: UUID) -> list[str]:
        """Return who acted in a stream, and in the stream of which it is a transcript; a thousand at most."""
        return [actor for (actor,) in await self.ask("stream_actors", entity=entity_id)]

    async def state(self, entity_id: UUID) -> StreamState:
        """Return where the stream stands now; raise `WrongEntity` if it is of another domain."""
        [row] = await self.ask("stream_state", StreamRow, entity=entity_id)
        if row.domain and self._domain and row.domain != self._domain:
            raise WrongEntity(f"{entity_id} is not a {self._domain} but a {row.domain}; open it as one")
        return StreamState(row.epoch, row.next_seq, row.sealed)

    async def start(self, entity_id: UUID, after: str | int | None) -> Position | Reset:
        """Return where a reader with this cursor continues, or why it cannot."""
        epoch, seq = parse_cursor(after)
        state = await self.state(entity_id)
        if epoch is not None and epoch != state.epoch:
            return Reset("epoch")
        if seq >= state.next_seq:
            return Reset("future")
        if seq < state.sealed:
            return Position(state.epoch, seq)
        missing = await self.ask("missing_numbers", entity=entity_id, low=state.sealed, high=seq)
        return Position(state.epoch, seq, {number for (number,) in missing})

    async def events(self, entity_id: UUID, after: str | int | None, limit: int) -> list[Event]:
        """Return up to `limit` committed events and open slots after a cursor or number."""
        check_limit(limit)
        position = await self.start(entity_id, after)
        if isinstance(position, Reset):
            if position.reason == "future" and isinstance(after, int):
                return []
            raise CursorLost(f"the cursor {after!r} belongs to another history; read again with after=None")
        following = position.head + 1
        found = await self.tail(entity_id, position, limit)
        if following and (not found or found[0].seq > following):
            await self._check_pruned(entity_id, following)
        return found

    async def _check_pruned(self, entity_id: UUID, seq: int) -> None:
        """Raise `CursorLost` if an event that was sealed is not stored any more."""
        if seq < (await self.state(entity_id)).sealed and await self.first(entity_id, seq - 1) != seq:
            raise CursorLost(
                f"event {seq} was pruned: it is no longer in the database; read again with after=None"
            )

    async def entities(self, domain: Domain, before: UUID | None, limit: int) -> list[UUID]:
        """Return the ids of a domain's streams below one of them, highest first."""
        check_limit(limit)
        rows = await self.ask("streams", domain=domain.name, before=before or HIGHEST, limit=limit)
        return [entity_id for (entity_id,) in rows]

    async def tail(self, entity_id: UUID, position: Position, limit: int) -> list[Event]:
        """Return what stands above a position, and move the position there."""
        return await self._deliver("read_tail", entity_id, position, after=position.head, limit=limit)

    async def first(self, entity_id: UUID, after: int) -> int | None:
        """Return the lowest number above another one that holds an event."""
        rows = await self.ask("first_number", entity=entity_id, after=after)
        return rows[0][0] if rows else None

    async def newest(
        self, entity_id: UUID, kinds: Sequence[str], *, before: int | None = None, limit: int | None = None
    ) -> list[BodyRow]:
        """Return the newest events of these kinds that still have a body, newest first."""
        before = MAX_SEQ - 1 if before is None else before
        values = {"kinds": list(kinds), "before": before, "limit": limit}
        return await self.ask_many("read_newest", BodyRow, entity=entity_id, **values)

    async def filled(self, entity_id: UUID, position: Position, limit: int) -> list[Event]:
        """Return what now stands in the holes of a position."""
        if not position.holes:
            return []
        seqs = sorted(position.holes)
        return await self._deliver("read_numbers", entity_id, position, seqs=seqs, limit=limit)

    async def _deliver(
        self, question: str, entity_id: UUID, position: Position, **values: object
    ) -> list[Event]:
        """Return the events of a query. Each is made as its row is read: rows that live on cost as much."""
        values |= {"tenant": self.tenant, "entity": entity_id}
        make = position.event_from(entity_id)
        return position.deliver(await self._database.made(make, sql.query(question), **values))
