"""Events taken out of the ledger whole, for whoever has no access to it."""

from __future__ import annotations

from uuid import UUID

from foja import sql
from foja.core.canonical import parse
from foja.core.chain import genesis
from foja.core.event import microseconds
from foja.core.excerpt import Excerpt
from foja.errors import UnknownEntity
from foja.sql.database import Database


async def excerpt(database: Database, tenant: str, entity_id: UUID, seq: int) -> Excerpt:
    """Return one sealed event of a tenant with all that checking it needs."""
    row = await database.row(sql.query("read_excerpt"), entity=entity_id, seq=seq, tenant=tenant)
    if row is None:
        raise UnknownEntity(f"stream {entity_id} has no sealed event {seq}; look with `foja events`")
    domain, _, _, event_id, kind, v, at, actor, source, payload, salt, body_hash, before, here = row
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
