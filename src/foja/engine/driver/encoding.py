"""PostgreSQL's binary format: scalars, arrays, composites.

A batch is a few arrays. They are encoded and decoded whole, so an event costs only a few slices.
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
MOMENT_OID, BOOLEAN_OID = 1184, 16
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_length = struct.Struct("!i").pack
_header = struct.Struct("!iiIii").pack
_field = struct.Struct("!Ii").pack
_count = struct.Struct("!i").unpack_from
_bigint = struct.Struct("!q")
double = struct.Struct("!d").pack
record_head = _length  # the header of a composite: its number of fields


class Packed(bytes):
    """An encoded value that a cursor sends unchanged, as the type that the statement expects."""


def text(value: str | None) -> Value:
    """Encode a text."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise errors.BadPayload(f"not a valid text: expected str, not {type(value).__name__}")
    if "\0" in value:
        raise errors.NotCanonical("U+0000 cannot be stored; remove it")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise errors.NotCanonical(f"a lone surrogate cannot be stored ({error}); remove it") from None


@lru_cache(maxsize=1024)
def name(value: str | None) -> Value:
    """Encode a name; the names in use are few, so they are cached."""
    return text(value)


@lru_cache(maxsize=1024)
def integer(value: int) -> bytes:
    """Encode a four-byte integer."""
    return _packed(_length, value)


def bigint(value: int | None) -> Value:
    """Encode an eight-byte integer."""
    return None if value is None else _packed(_bigint.pack, value)


def timestamp(value: datetime) -> bytes:
    """Encode a `timestamptz`."""
    return _bigint.pack((value - EPOCH) // MICROSECOND)


def _packed(pack: Callable[[int], bytes], value: int) -> bytes:
    try:
        return pack(value)
    except struct.error:
        raise errors.BadPayload(f"{value!r} is not an integer that the database can store") from None


def array(oid: int, items: Sequence[Value]) -> Value:
    """Encode a one-dimensional array. An array of nulls only becomes null, because `unnest` pads it."""
    if not any(item is not None for item in items):
        return None
    parts = [b"\xff\xff\xff\xff" if item is None else _length(len(item)) + item for item in items]
    return _header(1, int(None in items), oid, len(items), 1) + b"".join(parts)


@lru_cache(maxsize=1024)
def named(value: str | None) -> bytes:
    """Encode a name as a field of a composite; cached."""
    return field(TEXT_OID, text(value))


@lru_cache(maxsize=64)
def numbered(value: int) -> bytes:
    """Encode a small integer as a field of a composite; cached."""
    return field(INTEGER_OID, integer(value))


def field(oid: int, value: Value) -> bytes:
    """Encode a value as a field of a composite."""
    return _field(oid, -1) if value is None else _field(oid, len(value)) + value


def uuids(items: Sequence[UUID]) -> Value:
    """Encode an array of ids."""
    return array(UUID_OID, [item.bytes for item in items])


def packed(value: Value) -> Packed | None:
    """Mark a value as encoded, so that a cursor sends it unchanged."""
    return None if value is None else Packed(value)


def boolean(value: bool) -> bytes:
    """Encode a boolean."""
    return b"\x01" if value else b"\x00"


def fields(record: bytes) -> list[Value]:
    """Decode the fields of a composite."""
    return _values(record, 4, _count(record, 0)[0], skip=4)


def items(array: Value, count: int) -> list[Value]:
    """Decode the elements of an array; a null array has `count` nulls."""
    return [None] * count if array is None else _values(array, 20, count, skip=0)


def bigints(array: Value) -> Sequence[int]:
    """Decode an array of integers without nulls."""
    return _unpacked(array or b"", "iq")


def integers(array: Value) -> Sequence[int]:
    """Decode an array of small integers without nulls."""
    return _unpacked(array or b"", "ii")


def booleans(array: Value) -> Sequence[bool]:
    """Decode an array of booleans without nulls."""
    return _unpacked(array or b"", "i?")


def moment(microseconds: int) -> datetime:
    """Decode a `timestamptz`: microseconds since 2000."""
    return EPOCH + timedelta(microseconds=microseconds)


def number(data: bytes) -> int:
    """Decode a `bigint`."""
    value: int = _bigint.unpack(data)[0]
    return value


def _values(data: bytes, at: int, count: int, *, skip: int) -> list[Value]:
    """Decode values that follow their length, which follows `skip` bytes of type."""
    values: list[Value] = []
    for _ in range(count):
        (size,), at = _count(data, at + skip), at + skip + 4
        values.append(None if size < 0 else data[at : at + size])
        at += max(size, 0)
    return values


def _unpacked(array: bytes, item: str) -> tuple[Any, ...]:
    return _whole_array(item, _count(array, 12)[0]).unpack_from(array, 20)[1::2]


@cache
def _whole_array(item: str, count: int) -> struct.Struct:
    return struct.Struct("!" + item * count)
