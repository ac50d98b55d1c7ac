"""Strict RLP: one encoding per value, nothing after its end, no deeper than a trie needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from foja.errors import Tampered

Item: TypeAlias = "bytes | list[Item]"
MAX_DEPTH = 8


def decode(data: bytes) -> Item:
    """Return the item that these bytes encode, or raise `Tampered`."""
    item, end = _item(data, 0, 0)
    if end != len(data):
        raise Tampered("RLP has bytes after its end")
    return item


def decode_list(data: bytes) -> list[Item]:
    """Return the items of a list."""
    item = decode(data)
    if not isinstance(item, list):
        raise Tampered("RLP: a list is expected")
    return item


def encode(item: Item) -> bytes:
    """Return the bytes of an item."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _head(len(item), 0x80) + item
    body = b"".join(map(encode, item))
    return _head(len(body), 0xC0) + body


def number_bytes(number: int) -> bytes:
    """Return a number as an item."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def number(item: Item) -> int:
    """Return the number that an item encodes; leading zeros are refused."""
    if not isinstance(item, bytes) or len(item) > 32 or item[:1] == b"\0":
        raise Tampered("RLP: a number is expected")
    return int.from_bytes(item, "big")


def bytes_at(items: Sequence[Item], at: int) -> bytes:
    """Return the bytes at an index of a list."""
    item = items[at] if at < len(items) else None
    if not isinstance(item, bytes):
        raise Tampered("RLP: bytes are expected")
    return item


def _item(data: bytes, at: int, depth: int) -> tuple[Item, int]:
    first = _take(data, at, 1)[0]
    if first < 0x80:
        return data[at : at + 1], at + 1
    if first < 0xC0:
        start, end = _span(data, at, first - 0x80)
        found = _take(data, start, end - start)
        if len(found) == 1 and found[0] < 0x80:
            raise Tampered("RLP: a byte is not in its shortest form")
        return found, end
    start, end = _span(data, at, first - 0xC0)
    if depth == MAX_DEPTH:
        raise Tampered("RLP is nested too deep")
    return _items(data, start, end, depth + 1), end


def _items(data: bytes, at: int, end: int, depth: int) -> list[Item]:
    items = []
    while at < end:
        item, at = _item(data, at, depth)
        items.append(item)
    if at != end:
        raise Tampered("RLP: an item ends after its list")
    return items


def _span(data: bytes, at: int, size: int) -> tuple[int, int]:
    if size <= 55:
        start = at + 1
    else:
        width = size - 55
        digits = _take(data, at + 1, width)
        start, size = at + 1 + width, int.from_bytes(digits, "big")
        if digits[0] == 0 or size <= 55:
            raise Tampered("RLP: a length is not in its shortest form")
    if start + size > len(data):
        raise Tampered("RLP ends in the middle of an item")
    return start, start + size


def _take(data: bytes, at: int, size: int) -> bytes:
    taken = data[at : at + size]
    if len(taken) != size:
        raise Tampered("RLP ends in the middle of an item")
    return taken


def _head(size: int, kind: int) -> bytes:
    if size <= 55:
        return bytes([kind + size])
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([kind + 55 + len(digits)]) + digits
