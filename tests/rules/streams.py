"""Streams as the ledger records them, made without a database."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

from foja.pure.core.canonical import Json, canonical
from foja.pure.core.chain import genesis, step
from foja.pure.core.event import body_bytes, body_hash
from foja.pure.core.excerpt import Excerpt

START = 1_763_253_170_304_761


def stream(
    domain: str, entity_id: UUID, events: Iterable[tuple[str, Json]], actor: str = "ana"
) -> list[Excerpt]:
    """Return these kinds and payloads as the sealed events of one stream."""
    excerpts, head = [], genesis(domain, entity_id)
    for seq, (kind, payload) in enumerate(events):
        salt = sha256(b"salt %d" % seq).digest()[:16]
        digest = body_hash(salt, body_bytes(actor, canonical(payload), "api", 1))
        event_id, at = UUID(int=1000 + seq), START + 1000 * seq
        previous, head = head, step(head, entity_id, seq, event_id, kind, at, digest)
        fields = (domain, entity_id, seq, event_id, kind, 1, at, actor, "api", payload, salt)
        excerpts.append(Excerpt(*fields, body_hash=digest, previous=previous, chain_hash=head))
    return excerpts
