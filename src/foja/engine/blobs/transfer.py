"""Copy a stream in chunks, compute its digest, and notice a file that changes meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from foja.errors import Refused
from foja.files import open_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK_BYTES = 1 << 20  # more is hashed in a thread


@contextmanager
def unchanged(path: Path) -> Iterator[BinaryIO]:
    """Yield an open file, and raise `Refused` if it was changed while the block read it."""
    with open_file(path) as file:
        before = os.fstat(file.fileno())
        yield file
        after = os.fstat(file.fileno())
        size = file.tell() if file.seekable() else after.st_size
    if (before.st_size, before.st_mtime_ns, size) != (after.st_size, after.st_mtime_ns, after.st_size):
        raise Refused(f"{path} was changed while it was read; repeat it when no program writes to the file")


def copy(source: BinaryIO, target: BinaryIO | None = None) -> tuple[str, int]:
    """Read a stream to its end and write it to `target`, if given. Return digest and size."""
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest(), size


def join(chunks: Sequence[Buffer]) -> tuple[bytes, str]:
    """Return all chunks as bytes, and their SHA-256 digest."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return b"".join(chunks), digest.hexdigest()


async def digest(data: bytes) -> str:
    """Return the SHA-256 digest of some bytes; the event loop does not wait for many of them."""
    if len(data) <= CHUNK_BYTES:
        return hashlib.sha256(data).hexdigest()
    return (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()
