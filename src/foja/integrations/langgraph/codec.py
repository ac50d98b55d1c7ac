"""Encodes values of a graph's state as JSON, without loss.

A value that JSON keeps exactly is stored as JSON. Any other value goes through LangGraph's
serializer; its bytes are stored as text with readable ASCII, or as base64 if that is shorter.
Many of them together are compressed.
"""

from __future__ import annotations

import base64
import codecs
import zlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from foja.engine.driver.garbage import MANY, collector_paused
from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical

Cell: TypeAlias = dict[str, Any]
JSON = "json"
MAX_DEPTH = 24
# Bytes that JSON would escape are mapped to other characters of two bytes.
_LETTERS = "".join(chr(byte + 256 if byte < 32 else byte) for byte in range(256))
MSGPACK = "msgpack"  # LangGraph's name of its usual type
MIN_COMPRESSED = 16_384  # bytes; fewer stay readable


class PackedValue(NamedTuple):
    """A value as bytes of some type; `value` is the value itself if the type is JSON.

    Or several values, one after the other; then `sizes` has the number of bytes of each.
    """

    type: str
    data: bytes
    value: Any = None
    sizes: Sequence[int] = ()

    @property
    def size(self) -> int:
        """An upper bound of the bytes of its cell."""
        return len(self.data) * 4 // 3 + 48

    @property
    def digest(self) -> bytes:
        """A digest that is equal for equal values."""
        return blake2b(self.type.encode() + b"\0" + self.data, digest_size=16).digest()

    def split(self) -> list[PackedValue]:
        """Return each value by itself."""
        ends = accumulate(self.sizes, initial=0)
        return [PackedValue(self.type, self.data[a:b]) for a, b in pairwise(ends)] if self.sizes else [self]

    @property
    def cell(self) -> Cell:
        """The value as a JSON object."""
        if self.type == JSON:
            return {JSON: self.value}
        text = codecs.charmap_decode(self.data, "strict", _LETTERS)[0]
        if len(text.encode()) + text.count('"') + text.count("\\") <= len(self.data) * 4 // 3 + 4:
            return {"type": self.type, "text": text}
        return {"type": self.type, "base64": base64.b64encode(self.data).decode()}


def pack(serde: SerializerProtocol, value: Any) -> PackedValue:
    """Return a value as bytes."""
    if _is_exact(value, 0):
        try:
            return PackedValue(JSON, canonical(value), value)
        except NotCanonical:
            pass
    return PackedValue(*serde.dumps_typed(value))


def packed(cell: Mapping[str, Any]) -> PackedValue:
    """Return the packed value of a cell."""
    if JSON in cell:
        return PackedValue(JSON, canonical(cell[JSON]), cell[JSON])
    if "text" in cell:
        return PackedValue(cell["type"], _to_bytes(cell["text"]))
    return PackedValue(cell["type"], base64.b64decode(cell["base64"]))


def unpack(serde: SerializerProtocol, found: PackedValue) -> Any:
    """Return the value."""
    return found.value if found.type == JSON else serde.loads_typed((found.type, found.data))


def unpack_all(serde: SerializerProtocol, found: Sequence[PackedValue]) -> list[Any]:
    """Return the values. If all have the usual type, they are decoded together, as one MessagePack array."""
    if not isinstance(serde, JsonPlusSerializer) or {each.type for each in found} != {MSGPACK}:
        return [unpack(serde, item) for each in found for item in each.split()]
    count = sum(len(each.sizes) or 1 for each in found)
    data = b"".join([b"\xdd", count.to_bytes(4), *(each.data for each in found)])
    with collector_paused() if count >= MANY else nullcontext():
        values: list[Any] = serde.loads_typed((MSGPACK, data))
    return values


def join_cells(items: Sequence[PackedValue]) -> Cell:
    """Return a cell with these items: their own cells, or all of them compressed if they are large."""
    if sum(len(item.data) for item in items) < MIN_COMPRESSED or {item.type for item in items} != {MSGPACK}:
        return {"items": [item.cell for item in items]}
    data = zlib.compress(b"".join([item.data for item in items]), level=1)
    return {"sizes": [len(item.data) for item in items], "zlib": base64.b64encode(data).decode()}


def split_cell(cell: Mapping[str, Any]) -> list[PackedValue]:
    """Return the items of a cell; those that were compressed together stay together."""
    if "items" in cell:
        return [packed(item) for item in cell["items"]]
    return [PackedValue(MSGPACK, zlib.decompress(base64.b64decode(cell["zlib"])), sizes=cell["sizes"])]


def count_items(cell: Mapping[str, Any]) -> int:
    """Return the number of items of a cell."""
    return len(cell["items"] if "items" in cell else cell["sizes"])


def _to_bytes(text: str) -> bytes:
    """Return the bytes of a text: the low half of each character."""
    return text.encode("utf-16-le")[::2]


def _is_exact(value: Any, depth: int) -> bool:
    """Return whether JSON preserves the value and its types. Floats may not be preserved."""
    kind = type(value)
    if kind in {str, bool, int} or value is None:
        return True
    if depth == MAX_DEPTH:
        return False
    if kind is list:
        return all(_is_exact(each, depth + 1) for each in value)
    return kind is dict and all(type(k) is str and _is_exact(v, depth + 1) for k, v in value.items())
