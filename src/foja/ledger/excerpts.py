"""Read excerpts: events with everything needed to check them without the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from foja.core.bundle.history import link
from foja.core.canonical import parse
from foja.core.chain import genesis
from foja.core.event import microseconds
from foja.core.excerpt import Excerpt
from foja.errors import UnknownEntity
from foja.ledger.ledger import Ledger

PAGE_EVENTS = 1000


async def excerpt(ledger: Ledger, entity_id: UUID, seq: int) -> Excerpt:
    """Return one sealed event with everything needed to check it."""
    rows = await ledger.ask("read_excerpt", entity=entity_id, seq=seq)
    if not rows:
        raise UnknownEntity(f"stream {entity_id} has no sealed event {seq}; see `foja events`")
    domain, _, _, event_id, kind, v, at, actor, source, payload, salt, body_hash, before, here = rows[0]
    return Excerpt(
        domain=domain,
        entity_id=entity_id,
        seq=seq,
        event_id=event_id,
        kind=kind,
        v=v,
        at_us=microseconds(at),
        actor=actor,
        source=source,
        payload=None if payload is None else parse(payload),
        salt=salt,
        body_hash=body_hash,
        previous=before or genesis(domain, entity_id),
        chain_hash=here,
    )


async def domain_of(ledger: Ledger, entity_id: UUID) -> str:
    """Return the domain of a stream that has sealed events."""
    rows = await ledger.ask("stream_domain", entity=entity_id)
    if not rows or not rows[0][1]:
        raise UnknownEntity(f"stream {entity_id} has no sealed events; check the id and FOJA_TENANT")
    return str(rows[0][0])


async def covered(ledger: Ledger, entity_id: UUID) -> int:
    """Return how many events of a stream are covered by a published checkpoint."""
    return int((await ledger.ask("covered_events", entity=entity_id))[0][0])


async def excerpts(ledger: Ledger, entity_id: UUID, high: int | None = None) -> AsyncIterator[Excerpt]:
    """Yield the sealed events of a stream below `high`, with their chain hashes."""
    domain = await domain_of(ledger, entity_id)
    head, seq = genesis(domain, entity_id), 0
    while page := await ledger.ask("read_excerpts", entity=entity_id, low=seq, high=high, limit=PAGE_EVENTS):
        for row in page:
            event = link(_unlinked(domain, entity_id, row), head)
            head, seq = event.chain_hash, event.seq + 1
            yield event


def _unlinked(domain: str, entity_id: UUID, row: tuple[Any, ...]) -> Excerpt:
    """Return an event as it was recorded, without its chain hashes."""
    seq, event_id, kind, v, at, actor, source, payload, salt, body_hash = row
    parsed = None if payload is None else parse(payload)
    fields = (domain, entity_id, seq, event_id, kind, v, microseconds(at), actor, source, parsed, salt)
    return Excerpt(*fields, body_hash=body_hash, previous=b"", chain_hash=b"")
