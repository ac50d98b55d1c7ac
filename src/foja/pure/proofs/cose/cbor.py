"""The part of CBOR (RFC 8949) that a receipt needs, in its deterministic encoding. Nothing else is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from foja.errors import Malformed

Cbor: TypeAlias = "int | bytes | str | Sequence[Cbor] | Mapping[int, Cbor] | None"
_NULL = b"\xf6"
_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP = range(6)
_DEPTH = 8


def encode(value: Cbor) -> bytes:
    """Return the one encoding of a value: shortest lengths, the keys of a map in the order of their bytes."""
    match value:
        case None:
            return _NULL
        case int():
            return _head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
        case bytes():
            return _head(_BYTES, len(value)) + value
        case str():
            return _head(_TEXT, len(value.encode())) + value.encode()
        case Mapping():
            pairs = sorted((encode(key), encode(each)) for key, each in value.items())
            return _head(_MAP, len(value)) + b"".join(key + each for key, each in pairs)
        case _:
            return _head(_ARRAY, len(value)) + b"".join(map(encode, value))


def decode(data: bytes) -> Cbor:
    """Return the value that `encode` wrote, or raise `Malformed`."""
    try:
        value, end = _read(data, 0, _DEPTH)
    except (IndexError, UnicodeDecodeError, TypeError):
        raise Malformed("it is not CBOR of the kind that a receipt has") from None
    if end != len(data) or encode(value) != data:
        raise Malformed("its CBOR is not in the one deterministic encoding")
    return value


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes((major << 5 | number,))
    for code, size in enumerate((1, 2, 4, 8), 24):
        if number < 1 << 8 * size:
            return bytes((major << 5 | code,)) + number.to_bytes(size, "big")
    raise Malformed(f"a number of {number.bit_length()} bits is too large for CBOR")


def _read(data: bytes, at: int, depth: int) -> tuple[Cbor, int]:
    """Return the value at this place and where the next one begins."""
    if data[at : at + 1] == _NULL:
        return None, at + 1
    major, number, at = _read_head(data, at)
    if major == _UNSIGNED:
        return number, at
    if major == _NEGATIVE:
        return -1 - number, at
    if major in (_BYTES, _TEXT):
        content = data[at : at + number]
        return content.decode() if major == _TEXT else content, at + number
    if major not in (_ARRAY, _MAP) or depth == 0 or number > len(data):
        raise Malformed("it has a type of CBOR that no receipt has")
    items: list[Cbor] = []
    for _ in range(number if major == _ARRAY else 2 * number):
        item, at = _read(data, at, depth - 1)
        items.append(item)
    return (items if major == _ARRAY else _map(items)), at


def _map(items: Sequence[Cbor]) -> Mapping[int, Cbor]:
    keys = [key for key in items[::2] if isinstance(key, int)]
    if len(set(keys)) != len(items) // 2:
        raise Malformed("a map has a key twice, or one that is not a number")
    return dict(zip(keys, items[1::2], strict=True))


def _read_head(data: bytes, at: int) -> tuple[int, int, int]:
    major, info = data[at] >> 5, data[at] & 31
    if info < 24:
        return major, info, at + 1
    if info > 27:
        raise Malformed("it has a length of CBOR that no receipt has")
    size = 1 << info - 24
    return major, int.from_bytes(data[at + 1 : at + 1 + size], "big"), at + 1 + size
