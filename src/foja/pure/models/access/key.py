"""The text of an access key: `foja_<id>_<secret>_<checksum>`, so that scanners for leaked secrets find it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from zlib import crc32

from foja.errors import BadPayload

PREFIX: Final = "foja_"
ID_LENGTH: Final = 12
SECRET_BYTES: Final = 32
LIFETIME: Final = "365d"  # of a key whose maker names no end
NEVER: Final = "never"
_SECRET_LENGTH: Final = 43  # 32 bytes in base 62
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DURATION: Final = re.compile(r"(\d{1,6})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_KEY: Final = re.compile(r"(foja_([a-z0-9]{12})_[0-9A-Za-z]{43})_([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its owner has it. Only `id` and `digest` may be stored or shown."""

    id: str
    text: str

    def __repr__(self) -> str:
        return f"ApiKey({self.id!r})"

    @property
    def digest(self) -> bytes:
        """What the database has in place of the key."""
        return sha256(self.text.encode()).digest()


def make_key(random_id: bytes, secret: bytes) -> ApiKey:
    """Return the key with an id and a secret made of these random bytes."""
    return key_with_id(_encode(random_id, 36, ID_LENGTH), secret)


def key_with_id(key_id: str, secret: bytes) -> ApiKey:
    """Return the key of this id with a secret made of these random bytes."""
    body = f"{PREFIX}{key_id}_{_encode(secret, 62, _SECRET_LENGTH)}"
    return ApiKey(key_id, f"{body}_{_checksum(body)}")


def parse_key(text: str) -> ApiKey | None:
    """Return the key that a text is, or None if it is none or was mistyped."""
    found = _KEY.fullmatch(text)
    if found is None or _checksum(found[1]) != found[3]:
        return None
    return ApiKey(found[2], text)


def parse_duration(text: str) -> timedelta:
    """Return a duration such as `90d`, `12h`, `30m` or `45s`, or raise `BadPayload`."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise BadPayload(f"{text!r} is not a duration: expected 90d, 12h, 30m or 45s")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def parse_end(text: str | None, now: datetime) -> datetime | None:
    """Return when something ends: at a time, after a duration from now, or None for `never`."""
    if text is None or text == NEVER:
        return None
    if _DURATION.fullmatch(text):
        return now + parse_duration(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadPayload(f"{text!r} is not a time: expected 2026-01-31T12:00:00Z, 90d or {NEVER}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _checksum(body: str) -> str:
    return f"{crc32(body.encode()):08x}"


def _encode(data: bytes, base: int, length: int) -> str:
    """Return bytes as digits of a base; the highest digits are dropped if there are too many."""
    number, digits = int.from_bytes(data, "big"), []
    for _ in range(length):
        number, rest = divmod(number, base)
        digits.append(_DIGITS[rest])
    return "".join(reversed(digits))
