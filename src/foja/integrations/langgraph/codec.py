"""Values of a graph's state as JSON can carry them, each exactly as it was.

What JSON keeps exactly goes as JSON. Everything else goes through LangGraph's serializer, and
its bytes as a text in which ASCII stays readable, or in base64 where that is shorter.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

from langgraph.checkpoint.serde.base import SerializerProtocol

from foja.core.canonical import canonical
from foja.errors import NotCanonical

Cell: TypeAlias = dict[str, Any]
JSON = "json"
DEEPEST = 24
# Bytes that JSON would have to escape get a letter of their own, two bytes long.
_LETTERS = "".join(chr(byte + 256 if byte < 32 else byte) for byte in range(256))
_BYTES = codecs.charmap_build(_LETTERS)


class PackedValue(NamedTuple):
    """A value as bytes of some type; `value` is the value itself where that type is JSON."""

    type: str
    data: bytes
    value: Any = None

    @property
    def size(self) -> int:
        """How many bytes its cell takes at most."""
        return len(self.data) * 4 // 3 + 48

    @property
    def digest(self) -> bytes:
        """What two equal values have in common."""
        return blake2b(self.type.encode() + b"\0" + self.data, digest_size=16).digest()

    @property
    def cell(self) -> Cell:
        """The value as JSON carries it."""
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
    """Return the bytes that a cell stands for."""
    if JSON in cell:
        return PackedValue(JSON, canonical(cell[JSON]), cell[JSON])
    if "text" in cell:
        return PackedValue(cell["type"], codecs.charmap_encode(cell["text"], "strict", _BYTES)[0])
    return PackedValue(cell["type"], base64.b64decode(cell["base64"]))


def unpack(serde: SerializerProtocol, found: PackedValue) -> Any:
    """Return the value."""
    return found.value if found.type == JSON else serde.loads_typed((found.type, found.data))


def _is_exact(value: Any, depth: int) -> bool:
    """Say whether JSON gives back the same value of the same types. Floats it may not."""
    kind = type(value)
    if kind in {str, bool, int} or value is None:
        return True
    if depth == DEEPEST:
        return False
    if kind is list:
        return all(_is_exact(each, depth + 1) for each in value)
    return kind is dict and all(type(k) is str and _is_exact(v, depth + 1) for k, v in value.items())
