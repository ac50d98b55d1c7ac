"""Append what a request sends to the part of an upload; what arrived stays, whatever happens."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect

from foja.engine.blobs.uploads import PartialUploads, Upload, UploadBusy
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.uploads.headers import Checksum

MISMATCH = 460  # of tus


async def receive(
    uploads: PartialUploads,
    upload: Upload,
    offset: int,
    pieces: AsyncIterator[bytes],
    checksum: Checksum | None,
) -> int:
    """Append the bytes of a request that begin at `offset`; return how many the upload has now."""
    try:
        with uploads.writing(upload) as part:
            start = os.fstat(part).st_size
            if offset != start:
                raise Rejected(409, "The offset is wrong.", f"the upload has {start:,} bytes: continue there")
            try:
                digest = await _append(part, upload.length - start, pieces)
            finally:
                await _sync(part)
            if checksum and not checksum.matches(digest):
                os.ftruncate(part, start)
                raise Rejected(MISMATCH, "The checksum does not match.", "nothing was kept; send it again")
            return os.fstat(part).st_size
    except UploadBusy:
        raise Rejected(423, "Another request writes to this upload.", "wait for it, or cancel it") from None


async def _append(part: int, most: int, pieces: AsyncIterator[bytes]) -> bytes:
    """Write pieces as they come and return their digest; a client that leaves ends it without an error."""
    digest = hashlib.sha256()
    try:
        async for piece in pieces:
            if len(piece) > most:
                raise Rejected(413, "The upload is longer than it said.", "create another one")
            most -= len(piece)
            digest.update(piece)
            _write(part, piece)
    except ClientDisconnect:
        return b""
    return digest.digest()


def _write(part: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(part, rest) :]


async def _sync(part: int) -> None:
    """Wait for the disk in a thread, with a descriptor of its own: this request may be cancelled."""
    own = os.dup(part)

    def sync() -> None:
        try:
            os.fsync(own)
        finally:
            os.close(own)

    await asyncio.shield(asyncio.to_thread(sync))
