"""Bytes from one file to another, a piece at a time, and their digest on the way."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

CHUNK_BYTES = 1 << 20


def copy(source: BinaryIO, target: BinaryIO | None = None) -> tuple[str, int]:
    """Return digest and size of a stream, read to its end and written to `target` if there is one."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(CHUNK_BYTES):
        digest.update(piece)
        size += len(piece)
        if target is not None:
            target.write(piece)
    return digest.hexdigest(), size
