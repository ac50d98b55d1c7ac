"""Reserve numbers for events that do not exist yet; fill or void them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.driver.encoding import Packed
from foja.engine.ledger.event import MAX_BODY, Event, bounded, draft
from foja.engine.ledger.lanes.lanes import Lanes
from foja.engine.ledger.receipts import ReservationRequest, draft_record
from foja.engine.ledger.writer import Writer
from foja.errors import BadReservation, Busy, TooLarge, Unavailable
from foja.pure.core.registry import Domain

MAX_SLOTS = 256
MAX_TTL = 3600.0
MAX_INTENTS = 4 * MAX_BODY


@dataclass(frozen=True, slots=True)
class Slots:
    """A reservation: `seqs` are yours until the deadline. Fill or void them by ordinal, in any order."""

    entity_id: UUID
    seqs: tuple[int, ...]
    token: UUID
    deadline: datetime
    _reserver: Reserver = field(repr=False)

    async def fill(
        self,
        ordinal: int,
        kind: str,
        payload: Mapping[str, Any],
        *,
        actor: str | None = None,
        idempotency_key: str | None = None,
        v: int = 1,
    ) -> Event:
        """Append the event of a reserved number. The same fill again returns the first event."""
        key = f"slot:{self.token}:{self.seq(ordinal)}" if idempotency_key is None else idempotency_key
        with self._reserver.failures(payload):
            return await self._fill(self.seq(ordinal), kind, payload, actor=actor, idempotency_key=key, v=v)

    async def _fill(self, seq: int, kind: str, payload: Mapping[str, Any], **more: Any) -> Event:
        writer = self._reserver.writer
        event = draft(
            self._reserver.domain,
            self.entity_id,
            kind,
            payload,
            tenant=self._reserver.tenant,
            source=writer.source,
            **more,
        )
        values = {"draft": Packed(draft_record(event)), "seq": seq, "token": self.token}
        return writer.accept(event, await self._reserver.ask("fill", self.entity_id, values))

    async def void(self, ordinal: int, *, reason: str, actor: str | None = None) -> None:
        """Void a number; the stream records the reason."""
        bounded([reason, actor])
        reserver = self._reserver
        values = {
            "entity": self.entity_id,
            "domain": reserver.domain.name,
            "tenant": reserver.tenant,
            "source": reserver.writer.source,
            "seq": self.seq(ordinal),
            "token": self.token,
            "reason": reason,
            "actor": actor,
        }
        await reserver.ask("void", self.entity_id, values)
        reserver.writer.notify(reserver.tenant, self.entity_id)

    async def extend(self, ttl: float) -> datetime:
        """Extend the numbers that are still open to `ttl` seconds from now; return the new deadline."""
        _check_ttl(ttl)
        values = {"entity": self.entity_id, "tenant": self._reserver.tenant, "token": self.token, "ttl": ttl}
        (deadline,) = await self._reserver.ask("extend", self.entity_id, values, again=Busy)
        found: datetime = deadline
        return found

    def seq(self, ordinal: int) -> int:
        """Return the number of an ordinal."""
        if not 0 <= ordinal < len(self.seqs):
            raise BadReservation(f"ordinal {ordinal} is not in this reservation of {len(self.seqs)} numbers")
        return self.seqs[ordinal]


@dataclass(frozen=True, slots=True)
class Reserver:
    """Reserves numbers in the streams of one domain and tenant."""

    database: Database
    writer: Writer
    lanes: Lanes
    domain: Domain
    tenant: str
    failures: Callable[[Mapping[str, Any]], AbstractContextManager[None]] = (
        lambda _: nullcontext()  # around each fill
    )

    async def ask(
        self,
        query: str,
        entity_id: UUID,
        values: Mapping[str, Any],
        again: type[Unavailable] = Unavailable,
    ) -> Any:
        """Return the row of a query that locks this stream, repeated while the stream is held."""
        return await self.writer.retry(
            lambda: self.database.row(sql.query(query), **values), again=again, stream=entity_id
        )

    async def reserve(
        self, entity_id: UUID, count: int, ttl: float, intents: Sequence[Any] | None = None
    ) -> Slots:
        """Reserve the next `count` numbers of a stream for `ttl` seconds."""
        _check_ttl(ttl)
        if not 1 <= count <= MAX_SLOTS:
            raise BadReservation(f"a reservation holds 1 to {MAX_SLOTS} numbers, not {count}; make several")
        if intents is not None and len(intents) != count:
            raise BadReservation(f"{count} numbers need {count} intents, not {len(intents)}")
        texts = None if intents is None else [bounded(intent).decode() for intent in intents]
        if texts and sum(len(text.encode()) for text in texts) > MAX_INTENTS:
            raise TooLarge(f"the intents have over {MAX_INTENTS:,} bytes together; make several reservations")
        request = ReservationRequest(entity_id, self.domain.name, self.tenant, count, float(ttl), texts)
        _, first, token, deadline = await self.lanes.reserve(request)
        assert deadline is not None
        self.writer.notify(self.tenant, entity_id)
        return Slots(entity_id, tuple(range(first, first + count)), token, deadline, self)

    def resume(self, entity_id: UUID, seqs: Sequence[int], token: UUID) -> Slots:
        """Return a reservation made elsewhere, from its numbers and token."""
        # The deadline is not known here: the database checks it at each fill.
        return Slots(entity_id, tuple(seqs), token, datetime.now(UTC), self)


def _check_ttl(ttl: float) -> None:
    if not 0 < ttl <= MAX_TTL:
        raise BadReservation(
            f"numbers are kept for up to {MAX_TTL:.0f} seconds at a time, not {ttl}; extend them"
        )
