"""Reserve numbers for events that do not exist yet; fill or void them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from foja import sql
from foja.core.registry import Domain
from foja.driver.database import Database
from foja.driver.encoding import Packed
from foja.errors import BadReservation
from foja.ledger.event import Event, bounded, draft
from foja.ledger.lanes.lanes import Lanes
from foja.ledger.receipts import ReservationRequest, draft_record
from foja.ledger.writer import Writer

MAX_SLOTS = 256
MAX_TTL = 3600.0


@dataclass(frozen=True, slots=True)
class Slots:
    """A reservation: `seqs` are yours until the deadline. Fill or void them by ordinal, in any order."""

    entity_id: UUID
    seqs: tuple[int, ...]
    token: UUID
    deadline: datetime
    _reserver: Reserver

    async def fill(
        self,
        ordinal: int,
        kind: str,
        payload: Mapping[str, Any],
        *,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append the event of a reserved number. The same fill again returns the first event."""
        return await self._reserver.fill(self, ordinal, kind, payload, actor, idempotency_key)

    async def void(self, ordinal: int, *, reason: str) -> None:
        """Void a number; the stream records the reason."""
        await self._reserver.void(self, ordinal, reason)

    async def extend(self, ttl: float) -> datetime:
        """Extend the numbers that are still open to `ttl` seconds from now; return the new deadline."""
        return await self._reserver.extend(self, ttl)

    def seq(self, ordinal: int) -> int:
        """Return the number of an ordinal."""
        if not 0 <= ordinal < len(self.seqs):
            raise BadReservation(f"ordinal {ordinal} is not in this reservation of {len(self.seqs)} numbers")
        return self.seqs[ordinal]


class Reserver:
    """Reserves numbers in the streams of one domain and tenant."""

    def __init__(self, database: Database, writer: Writer, lanes: Lanes, domain: Domain, tenant: str) -> None:
        self._database, self._writer, self._lanes = database, writer, lanes
        self._domain, self._tenant = domain, tenant

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
        request = ReservationRequest(entity_id, self._domain.name, self._tenant, count, float(ttl), texts)
        _, first, token, deadline = await self._lanes.reserve(request)
        assert deadline is not None
        self._writer.notify(entity_id)
        return Slots(entity_id, tuple(range(first, first + count)), token, deadline, self)

    def resume(
        self, entity_id: UUID, seqs: Sequence[int], token: UUID, deadline: datetime | None = None
    ) -> Slots:
        """Return a reservation made elsewhere, from its numbers and token."""
        # Not knowing the deadline is not having one: the database decides at each fill.
        return Slots(entity_id, tuple(seqs), token, deadline or datetime.now(UTC), self)

    async def fill(
        self,
        slots: Slots,
        ordinal: int,
        kind: str,
        payload: Mapping[str, Any],
        actor: str | None,
        key: str | None,
    ) -> Event:
        seq = slots.seq(ordinal)
        event = draft(
            self._domain,
            slots.entity_id,
            kind,
            payload,
            tenant=self._tenant,
            actor=actor,
            source=self._writer.source,
            idempotency_key=f"slot:{slots.token}:{seq}" if key is None else key,
        )
        values = {"draft": Packed(draft_record(event)), "seq": seq, "token": slots.token}
        receipt = await self._writer.patiently(lambda: self._database.row(sql.query("fill"), **values))
        return self._writer.accept(event, receipt)

    async def void(self, slots: Slots, ordinal: int, reason: str) -> None:
        bounded({"reason": reason})
        values = {**self._scope(slots.entity_id), "seq": slots.seq(ordinal), "token": slots.token}
        await self._writer.patiently(lambda: self._database.row(sql.query("void"), **values, reason=reason))
        self._writer.notify(slots.entity_id)

    async def extend(self, slots: Slots, ttl: float) -> datetime:
        _check_ttl(ttl)
        row = await self._database.row(
            sql.query("extend"),
            entity=slots.entity_id,
            tenant=self._tenant,
            token=slots.token,
            ttl=ttl,
        )
        assert row is not None
        deadline: datetime = row[0]
        return deadline

    def _scope(self, entity_id: UUID) -> dict[str, object]:
        return {
            "entity": entity_id,
            "domain": self._domain.name,
            "tenant": self._tenant,
            "source": self._writer.source,
        }


def _check_ttl(ttl: float) -> None:
    if not 0 < ttl <= MAX_TTL:
        raise BadReservation(
            f"numbers are kept for up to {MAX_TTL:.0f} seconds at a time, not {ttl}; extend them"
        )
