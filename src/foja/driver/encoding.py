"""Values as PostgreSQL sends them in binary: scalars, arrays, composites.

A batch is a handful of arrays; packed and unpacked whole, an event costs a few slices.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from foja import errors

Value = bytes | None
UUID_OID, TEXT_OID, BYTEA_OID, INTEGER_OID, BIGINT_OID, DOUBLE_OID = 2950, 25, 17, 23, 20, 701
MOMENT_OID = 1184
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_length = struct.Struct("!i").pack
_header = struct.Struct("!iiIii").pack
_field = struct.Struct("!Ii").pack
_count = struct.Struct("!i").unpack_from
_bigint = struct.Struct("!q")
_double = struct.Struct("!d").pack


class Packed(bytes):
    """A value as bytes, where a cursor would pack it: of the type that the statement wants there."""


def text(value: str | None) -> Value:
    """Return a text as PostgreSQL reads it in binary."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise errors.BadPayload(f"a text is needed, not {type(value).__name__}")
    if "\0" in value:
        raise errors.NotCanonical("U+0000 cannot be stored; leave it out")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise errors.NotCanonical(f"half of a surrogate pair cannot be stored ({error})") from None


@lru_cache(maxsize=1024)
def name(value: str | None) -> Value:
    """Return one of the same few names, again and again."""
    return text(value)


@lru_cache(maxsize=1024)
def integer(value: int) -> bytes:
    """Return a four-byte integer."""
    return _packed(_length, value)


def bigint(value: int | None) -> Value:
    """Return an eight-byte integer."""
    return None if value is None else _packed(_bigint.pack, value)


def double(value: float) -> bytes:
    """Return a double."""
    return _double(value)


def timestamp(value: datetime) -> bytes:
    """Return a `timestamptz`."""
    return _bigint.pack((value - EPOCH) // MICROSECOND)


def _packed(pack: Callable[[int], bytes], value: int) -> bytes:
    try:
        return pack(value)
    except struct.error:
        raise errors.BadPayload(f"{value!r} is no integer the database can take") from None


def array(oid: int, items: Sequence[Value]) -> Value:
    """Return a one-dimensional array; one of nulls only is null, as `unnest` pads it."""
    if not any(item is not None for item in items):
        return None
    parts = [b"\xff\xff\xff\xff" if item is None else _length(len(item)) + item for item in items]
    return _header(1, int(None in items), oid, len(items), 1) + b"".join(parts)


@lru_cache(maxsize=1024)
def named(value: str | None) -> bytes:
    """Return one of the same few names as a field of a composite."""
    return field(TEXT_OID, text(value))


@lru_cache(maxsize=64)
def numbered(value: int) -> bytes:
    """Return one of the same few small numbers as a field of a composite."""
    return field(INTEGER_OID, integer(value))


def field(oid: int, value: Value) -> bytes:
    """Return a value as a field of a composite."""
    return _field(oid, -1) if value is None else _field(oid, len(value)) + value


def record_head(count: int) -> bytes:
    """Return what stands before the fields of a composite."""
    return _length(count)


def uuids(items: Sequence[UUID]) -> Value:
    """Return an array of ids."""
    return array(UUID_OID, [item.bytes for item in items])


def packed(value: Value) -> Packed | None:
    """Return a value as one that a cursor sends as it is."""
    return None if value is None else Packed(value)


def boolean(value: bool) -> bytes:
    """Return a truth value."""
    return b"\x01" if value else b"\x00"


def fields(record: bytes) -> list[Value]:
    """Return the fields of a composite value."""
    return _pieces(record, 4, _count(record, 0)[0], skip=4)


def items(array: Value, count: int) -> list[Value]:
    """Return the elements of an array; those of a null are nulls."""
    return [None] * count if array is None else _pieces(array, 20, count, skip=0)


def bigints(array: Value) -> Sequence[int]:
    """Return the elements of an array of integers, none of them null."""
    return _unpacked(array or b"", "iq")


def booleans(array: Value) -> Sequence[bool]:
    """Return the elements of an array of truth values, none of them null."""
    return _unpacked(array or b"", "i?")


def moment(microseconds: int) -> datetime:
    """Return a `timestamptz`, sent as microseconds since 2000."""
    return EPOCH + timedelta(microseconds=microseconds)


def number(data: bytes) -> int:
    """Return a `bigint`."""
    value: int = _bigint.unpack(data)[0]
    return value


def _pieces(data: bytes, at: int, count: int, *, skip: int) -> list[Value]:
    """Return pieces that have their length before them, and perhaps a type before that."""
    pieces: list[Value] = []
    for _ in range(count):
        (size,), at = _count(data, at + skip), at + skip + 4
        pieces.append(None if size < 0 else data[at : at + size])
        at += max(size, 0)
    return pieces


def _unpacked(array: bytes, item: str) -> tuple[Any, ...]:
    return _whole_array(item, _count(array, 12)[0]).unpack_from(array, 20)[1::2]


@cache
def _whole_array(item: str, count: int) -> struct.Struct:
    return struct.Struct("!" + item * count)
