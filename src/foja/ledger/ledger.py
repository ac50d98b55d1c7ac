"""The ledger as one tenant uses it: write, reserve, read, follow, prove."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from uuid import UUID

from foja import sql
from foja.core.registry import Domain
from foja.driver.database import Database
from foja.ledger.event import Draft, Event, StreamItem, Transient, draft
from foja.ledger.lanes.lanes import Lanes
from foja.ledger.live.follower import PAGE_EVENTS, Follower, follow
from foja.ledger.live.notifier import Notifier, Subscription
from foja.ledger.live.transient import Transients
from foja.ledger.log import Log
from foja.ledger.reader import BodyRow, Position, StreamReader, StreamState
from foja.ledger.slots import Reserver, Slots
from foja.ledger.writer import AppendResult, Writer


class Ledger:
    """The streams of one tenant. `of` is the same for another tenant, on the same connections."""

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        deltas: Transients,
        log: Log,
        writer: Writer,
        lanes: Lanes,
        tenant: str,
    ) -> None:
        self.log, self.tenant = log, tenant
        self._deltas = deltas
        self._database, self._notifier, self._writer, self._lanes = database, notifier, writer, lanes
        self._reader = StreamReader(database, tenant)

    def of(self, tenant: str) -> Ledger:
        """Return the same ledger for another tenant."""
        if tenant == self.tenant:
            return self
        return Ledger(
            self._database, self._notifier, self._deltas, self.log, self._writer, self._lanes, tenant
        )

    async def append(self, event: Draft) -> Event:
        """Write one event."""
        return await self._lanes.append(event)

    async def append_many(self, events: Sequence[Draft]) -> list[Event]:
        """Write all of these events, of as many streams as you like, or none."""
        return await self._lanes.append_many(events)

    async def append_each(self, events: Sequence[Draft]) -> list[AppendResult]:
        """Write what can be written; each draft gets its event or its error."""
        return await self._lanes.append_each(events)

    def draft(
        self, domain: Domain, entity_id: UUID, kind: str, payload: Mapping[str, Any], **more: Any
    ) -> Draft:
        """Return an event to be written by this process."""
        return draft(domain, entity_id, kind, payload, tenant=self.tenant, source=self._writer.source, **more)

    async def erase(self, entity_id: UUID, seq: int, *, reason: str, actor: str | None = None) -> None:
        """Forget one body; its hash and every proof stay."""
        await self._writer.erase(entity_id, self.tenant, seq, reason=reason, actor=actor)

    async def erase_all(self, entity_id: UUID, seqs: Sequence[int], *, reason: str) -> None:
        """Forget several bodies of a stream, or none."""
        await self._writer.erase_all(entity_id, self.tenant, seqs, reason=reason)

    async def reserve(
        self, domain: Domain, entity_id: UUID, count: int, ttl: float, intents: Sequence[Any] | None
    ) -> Slots:
        """Take the next numbers of a stream."""
        return await self.reserver(domain).reserve(entity_id, count, ttl, intents)

    def reserver(self, domain: Domain) -> Reserver:
        """Return whoever keeps the reservations of a domain."""
        return Reserver(self._database, self._writer, self._lanes, domain, self.tenant)

    async def state(self, entity_id: UUID) -> StreamState:
        """Return where a stream stands."""
        return await self._reader.state(entity_id)

    async def ask(self, question: str, **values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a domain's own query about this tenant's streams."""
        return await self._database.rows(sql.query(question), tenant=self.tenant, **values)

    async def events(self, entity_id: UUID, after: str | int | None, limit: int) -> list[Event]:
        """Return up to `limit` committed events after a cursor or number."""
        return await self._reader.events(entity_id, after, limit)

    async def newest(
        self, entity_id: UUID, kinds: Sequence[str], *, before: int | None = None, limit: int | None = None
    ) -> list[BodyRow]:
        """Return the newest events of some kinds, newest first, without what was erased."""
        return await self._reader.newest(entity_id, kinds, before, limit)

    def follow(self, entity_id: UUID, after: str | int | None) -> AsyncGenerator[StreamItem]:
        """Yield every event of a stream and what is said in passing, for ever."""
        return self.go_on(self.follower(entity_id, after))

    def follower(
        self,
        entity_id: UUID,
        after: str | int | None,
        position: Position | None = None,
        page: int = PAGE_EVENTS,
    ) -> Follower:
        """Return a reader's place in a stream, to be asked for what it lacks."""
        return Follower(self._reader, entity_id, after, position, page)

    def watch(self, entity_id: UUID) -> AbstractContextManager[Subscription]:
        """Lend a wake that is set whenever the stream may have grown."""
        return self._notifier.watch(entity_id)

    def go_on(self, follower: Follower) -> AsyncGenerator[StreamItem]:
        """Yield what a follower lacks and what is said in passing, for ever."""
        return follow(self._notifier, follower, self._deltas.hearing(follower.entity_id))

    async def emit(self, transient: Transient) -> None:
        """Tell whoever follows the stream now; nothing is written."""
        self._deltas.emit(transient)

    def resume(self, domain: Domain, entity_id: UUID, seqs: Sequence[int], token: UUID) -> Slots:
        """Return a reservation made elsewhere, from its numbers and token."""
        return self.reserver(domain).resume(entity_id, seqs, token)

    async def entities(self, domain: Domain, before: UUID | None, limit: int) -> list[UUID]:
        """Return the streams of a domain, newest first, below one of them."""
        return await self._reader.entities(domain.name, before, limit)
