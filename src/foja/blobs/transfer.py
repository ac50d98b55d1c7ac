"""Copy a stream in chunks and compute its digest."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

CHUNK_BYTES = 1 << 20


def copy(source: BinaryIO, target: BinaryIO | None = None) -> tuple[str, int]:
    """Read a stream to its end and write it to `target`, if given. Return digest and size."""
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest(), size
