"""What an event commits to: its body, its identity, its time.

The body is what may be erased: only its salted hash enters the chain.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from foja.core.canonical import canonical
from foja.errors import NotCanonical

SALT_BYTES = 16
_BODY = b"\x03"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The bits of a UUID that come from the digest, and those that say how: version 8, RFC 9562.
_DIGEST, _VERSION_8 = 0xFFFFFFFF_FFFF_0FFF_3FFF_FFFFFFFFFFFF, 0x00000000_0000_8000_8000_000000000000


def lp(*fields: bytes) -> bytes:
    """Join fields so that no two lists of fields give the same bytes."""
    return b"".join([part for field in fields for part in (len(field).to_bytes(4, "big"), field)])


def u64(number: int) -> bytes:
    """Return eight big-endian bytes."""
    if not 0 <= number < 2**64:
        raise NotCanonical("refused: a number does not fit 64 bits without a sign; send 0 to 2**64 - 1")
    return number.to_bytes(8, "big")


def utf8(text: str) -> bytes:
    """Return the bytes of a text made of whole characters."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotCanonical(f"refused: half of a surrogate pair in {text!a}; send whole characters") from None


def body_bytes(actor: str | None, payload_canonical: bytes, source: str, v: int) -> bytes:
    """Return the canonical body around a payload that is canonical already."""
    return b'{"actor":%b,"payload":%b,"source":%b,"v":%b}' % (
        _spelled(actor),
        payload_canonical,
        _spelled(source),
        _spelled(v),
    )


@lru_cache(maxsize=1024)
def _spelled(value: str | int | None) -> bytes:
    """Return the same few names in canonical form, again and again."""
    return canonical(value)


def body_hash(salt: bytes, body: bytes) -> bytes:
    """Commit to a body that nobody can guess once its salt is gone."""
    if len(salt) != SALT_BYTES:
        raise NotCanonical(f"refused: a salt of {len(salt)} bytes; send {SALT_BYTES}")
    return sha256(_BODY + salt + body).digest()


def event_id_for(entity_id: UUID, idempotency_key: str) -> UUID:
    """Return the same id for the same key of the same entity, for ever."""
    return derived_id(b"foja/event/v1", entity_id.bytes, utf8(idempotency_key))


def derived_id(*fields: bytes) -> UUID:
    """Return the id that these fields always give: a UUIDv8 of the SHA-256 of their length-prefixed form."""
    return UUID(int=int.from_bytes(sha256(lp(*fields)).digest()[:16]) & _DIGEST | _VERSION_8)


def microseconds(at: datetime) -> int:
    """Return whole microseconds since 1970, without a float on the way."""
    if at.tzinfo is None:
        raise NotCanonical(f"refused: {at.isoformat()} has no time zone; send one that has")
    return (at - _EPOCH) // _MICROSECOND
