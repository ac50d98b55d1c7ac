"""The ledger as one tenant uses it: write, reserve, read, follow, prove."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from typing import Any
from uuid import UUID

from foja.engine.driver.clock import DatabaseClock
from foja.engine.driver.database import Database
from foja.engine.ledger.event import MAX_SEQ, Draft, StreamItem, Transient, bounded, draft
from foja.engine.ledger.lanes.lanes import Lanes
from foja.engine.ledger.live.follower import PAGE_EVENTS, Follower, follow
from foja.engine.ledger.live.notifier import Notifier, Subscription
from foja.engine.ledger.live.transient import Transients
from foja.engine.ledger.log import Log
from foja.engine.ledger.reader import Position, StreamReader
from foja.engine.ledger.slots import Reserver
from foja.engine.ledger.writer import Writer
from foja.errors import UnknownEntity
from foja.pure.core.event import keyed_id, utf8
from foja.pure.core.registry import Domain


class Ledger(StreamReader):
    """The streams of one tenant, to read and to write."""

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        transients: Transients,
        log: Log,
        writer: Writer,
        lanes: Lanes,
        tenant: str,
        *,
        id_key: bytes,
    ) -> None:
        super().__init__(database, tenant)
        self._id_key = id_key
        self.log, self.now = log, DatabaseClock(database).now
        self.append, self.append_many, self.append_each = lanes.append, lanes.append_many, lanes.append_each
        self._notifier, self._transients, self._writer, self._lanes = notifier, transients, writer, lanes

    def of(self, tenant: str) -> Ledger:
        """Return the same ledger for another tenant, on the same connections."""
        other = copy(self)
        other.tenant, other._database = tenant, self._database.of(tenant)
        return other

    def only(self, domain: Domain) -> Ledger:
        """Return the same ledger for the streams of one domain; reading another one is refused."""
        other = copy(self)
        other._domain = domain.name
        return other

    def derived_id(self, label: bytes, *fields: str) -> UUID:
        """Return the id that these fields always give in this tenant. Other tenants cannot compute it."""
        return keyed_id(self._id_key, label, *map(utf8, (self.tenant, *fields)))

    def draft(
        self, domain: Domain, entity_id: UUID, kind: str, payload: Mapping[str, Any], **more: Any
    ) -> Draft:
        """Return an event to be written by this process."""
        return draft(domain, entity_id, kind, payload, tenant=self.tenant, source=self._writer.source, **more)

    async def erase(
        self, domain: Domain, entity_id: UUID, seq: int, *, reason: str, actor: str | None = None
    ) -> None:
        """Erase one body; its hash and every proof stay."""
        bounded([reason, actor])
        if type(seq) is not int or not 0 <= seq < MAX_SEQ:
            raise UnknownEntity(f"{entity_id} has no event {seq!r}")
        await self._erase("erase", domain, entity_id, seq=seq, reason=reason, actor=actor)

    async def erase_all(self, domain: Domain, entity_id: UUID, seqs: Sequence[int], *, reason: str) -> None:
        """Erase several bodies of a stream in one transaction, or none."""
        bounded([reason])
        await self._erase("erase_all", domain, entity_id, seqs=list(seqs), reason=reason)

    async def _erase(self, query: str, domain: Domain, entity_id: UUID, **values: object) -> None:
        await self.change(query, entity_id, domain=domain.name, source=self._writer.source, **values)

    async def change(self, query: str, entity_id: UUID, **values: object) -> list[tuple[Any, ...]]:
        """Run a query that appends to a stream and can be repeated; return its rows."""
        rows = await self._writer.retry(lambda: self.ask(query, entity=entity_id, **values), stream=entity_id)
        self._writer.notify(self.tenant, entity_id)
        return rows

    async def await_standbys(self) -> None:
        """Return once all that was read is as durable as an append. For an answer "recorded before"."""
        await self._writer.retry(partial(self.ask, "await_standbys"))

    def reserver(self, domain: Domain) -> Reserver:
        """Return what makes the reservations of a domain."""
        return Reserver(self._database, self._writer, self._lanes, domain, self.tenant)

    def emit(self, transient: Transient) -> None:
        """Send a transient to the current followers of its stream. It is not stored."""
        self._transients.emit(self.tenant, transient)

    def follow(self, entity_id: UUID, after: str | int | None) -> AsyncGenerator[StreamItem]:
        """Yield every event of a stream and its transients, without end."""
        return self.go_on(self.follower(entity_id, after))

    def follower(
        self,
        entity_id: UUID,
        after: str | int | None,
        position: Position | None = None,
        page: int = PAGE_EVENTS,
    ) -> Follower:
        """Return a reader's place in a stream, to be asked for what it lacks."""
        return Follower(self, entity_id, after, position, page)

    def watch(self, entity_id: UUID) -> AbstractContextManager[Subscription]:
        """Return a subscription that is set whenever the stream may have grown."""
        return self._notifier.watch((self.tenant, entity_id))

    def go_on(self, follower: Follower) -> AsyncGenerator[StreamItem]:
        """Yield the events that a follower lacks and new transients, without end."""
        return follow(self._notifier, follower, self._transients.hearing(*follower.key))
