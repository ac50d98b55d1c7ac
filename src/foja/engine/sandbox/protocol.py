"""The messages between a server and its process: a JSON object and bytes, each with its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any

LENGTHS = struct.Struct(">II")
MAX_OBJECT = 1 << 16  # bytes
_CHUNK = 1 << 20


def head(value: Mapping[str, Any], size: int) -> bytes:
    """Return what comes before `size` bytes of content."""
    text = json.dumps(value, separators=(",", ":")).encode()
    return LENGTHS.pack(len(text), size) + text


def read(pipe: int) -> tuple[dict[str, Any], bytearray] | None:
    """Return the next message of a pipe, or None at its end. For a process that has nothing else to do."""
    lengths = _exactly(pipe, LENGTHS.size)
    if lengths is None:
        return None
    text, size = LENGTHS.unpack(lengths)
    value, content = _exactly(pipe, text), _exactly(pipe, size)
    if value is None or content is None:
        return None
    return json.loads(value), content


def write(pipe: int, value: Mapping[str, Any], contents: Sequence[bytes] = ()) -> None:
    """Write a message to a pipe."""
    for part in (head(value, sum(map(len, contents))), *contents):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(pipe, rest[:_CHUNK]) :]


def _exactly(pipe: int, size: int) -> bytearray | None:
    """Return the next `size` bytes of a pipe, or None if it ends before."""
    found = bytearray(size)
    rest = memoryview(found)
    while rest:
        count = os.readv(pipe, [rest])
        if not count:
            return None
        rest = rest[count:]
    return found
