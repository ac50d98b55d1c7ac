"""The chain of one stream: each digest commits to everything before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from foja.errors import NotCanonical, Tampered
from foja.pure.core.event import lp, u64, utf8

_LINK = b"\x02"
_LEAF = b"\x04"
_NAME = b"foja/chain/v1"


@dataclass(frozen=True, slots=True)
class Link:
    """The fields of an event that the chain covers; they outlive its body."""

    seq: int
    event_id: UUID
    kind: str
    at_us: int
    body_hash: bytes


def genesis(domain: str, entity_id: UUID) -> bytes:
    """Return the digest a stream starts from, before its first event."""
    return sha256(_LINK + lp(_NAME, utf8(domain), entity_id.bytes)).digest()


def step(
    previous: bytes, entity_id: UUID, seq: int, event_id: UUID, kind: str, at_us: int, body_hash: bytes
) -> bytes:
    """Return the digest that follows `previous` when this event is next."""
    fields = (previous, entity_id.bytes, u64(seq), event_id.bytes, utf8(kind), u64(at_us), body_hash)
    return sha256(_LINK + lp(*fields)).digest()


def check(domain: str, entity_id: UUID, links: Iterable[Link], head: bytes | None = None) -> bytes:
    """Return the head digest of a whole stream, or raise `Tampered`.

    Depends only on its arguments. Without `head` it proves order and completeness from
    number 0 on; with it, also that nothing was changed and the end was not cut off.
    """
    digest, length = genesis(domain, entity_id), 0
    for link in links:
        digest = _follow(digest, entity_id, link, length)
        length += 1
    if head is not None and digest != head:
        raise Tampered(
            f"stream {entity_id}: {length} events lead to {digest.hex()}, not to the head {head.hex()};"
            " an event was changed, or the end is missing"
        )
    return digest


def leaf_entry(entity_id: UUID, seq: int, chain_hash: bytes) -> bytes:
    """Return the log entry of one sealed event."""
    return _LEAF + entity_id.bytes + u64(seq) + chain_hash


def _follow(digest: bytes, entity_id: UUID, link: Link, expected: int) -> bytes:
    if link.seq != expected:
        raise Tampered(
            f"stream {entity_id}: expected number {expected}, found {link.seq};"
            " an event was removed, added or moved"
        )
    try:
        return step(digest, entity_id, link.seq, link.event_id, link.kind, link.at_us, link.body_hash)
    except NotCanonical as error:
        raise Tampered(f"stream {entity_id}: number {expected} cannot be an event ({error})") from None
