"""The hashed fields of an event: its body, its identity, its time.

The body may be erased: only its salted hash enters the chain.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from hmac import digest as hmac
from uuid import UUID

from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical

SALT_BYTES = 16
# The times that can be judged. Adding a tolerance or an accuracy to one of them stays in the calendar.
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_BODY = b"\x03"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The bits of a UUID that come from the digest, and those that say how: version 8, RFC 9562.
_DIGEST, _VERSION_8 = 0xFFFFFFFF_FFFF_0FFF_3FFF_FFFFFFFFFFFF, 0x00000000_0000_8000_8000_000000000000


def lp(*fields: bytes) -> bytes:
    """Join fields so that different lists of fields give different bytes."""
    return b"".join([part for field in fields for part in (len(field).to_bytes(4, "big"), field)])


_EVENT = lp(b"foja/event/v1") + (16).to_bytes(4, "big")


def u64(number: int) -> bytes:
    """Return eight big-endian bytes."""
    if not 0 <= number < 2**64:
        raise NotCanonical("refused: a number does not fit 64 bits without a sign; send 0 to 2**64 - 1")
    return number.to_bytes(8, "big")


def utf8(text: str) -> bytes:
    """Return a text in UTF-8, or raise `NotCanonical` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotCanonical(f"refused: half of a surrogate pair in {text!a}; send whole characters") from None


def body_bytes(actor: str | None, payload_canonical: bytes, source: str, v: int) -> bytes:
    """Return the canonical body with a payload that is already canonical."""
    return b'{"actor":%b,"payload":%b,"source":%b,"v":%b}' % (
        _canonical(actor),
        payload_canonical,
        _canonical(source),
        _canonical(v),
    )


@lru_cache(maxsize=1024)
def _canonical(value: str | int | None) -> bytes:
    """Return the canonical form of a value; cached, since the same few values recur."""
    return canonical(value)


def body_hash(salt: bytes, body: bytes) -> bytes:
    """Return the salted hash of a body; without the salt it does not reveal the body."""
    if len(salt) != SALT_BYTES:
        raise NotCanonical(f"refused: a salt has {len(salt)} bytes; send {SALT_BYTES}")
    return sha256(_BODY + salt + body).digest()


def event_id_for(entity_id: UUID, idempotency_key: str) -> UUID:
    """Return the same id for the same key of the same entity, for ever."""
    key = utf8(idempotency_key)
    # As derived_id(b"foja/event/v1", entity_id.bytes, key), which would join the same start for every event.
    return _uuid8(sha256(b"%b%b%b%b" % (_EVENT, entity_id.bytes, len(key).to_bytes(4, "big"), key)).digest())


def derived_id(*fields: bytes) -> UUID:
    """Return the id that these fields always give: a UUIDv8 of the SHA-256 of their length-prefixed form."""
    return _uuid8(sha256(lp(*fields)).digest())


def keyed_id(key: bytes, *fields: bytes) -> UUID:
    """Return the id that these fields always give under this key: as above, of their HMAC-SHA-256."""
    return _uuid8(hmac(key, lp(*fields), "sha256"))


def _uuid8(digest: bytes) -> UUID:
    return UUID(int=int.from_bytes(digest[:16]) & _DIGEST | _VERSION_8)


def microseconds(at: datetime) -> int:
    """Return whole microseconds since 1970, computed without floats."""
    if at.tzinfo is None:
        raise NotCanonical(f"refused: {at.isoformat()} has no time zone; add one")
    return (at - _EPOCH) // _MICROSECOND


def is_in_calendar(moment: datetime) -> bool:
    """Return whether a time is one that can be judged."""
    return FIRST <= moment < LAST


def from_seconds(seconds: int) -> datetime | None:
    """Return the time this many seconds after 1970, or None if it cannot be judged."""
    return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds < LAST.timestamp() else None
