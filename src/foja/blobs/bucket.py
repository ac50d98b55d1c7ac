"""Objects in a store reached through a network: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from foja.blobs.transfer import copy
from foja.errors import ObjectChanged

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutMode, PutResult
    from obstore.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. Its version is what the store calls one, kept as it came."""

    store: ObjectStore

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version."""
        answer = await obstore.get_async(self.store, key)
        return bytes(await answer.bytes_async()), _version(answer.meta)

    async def write(self, key: str, data: bytes) -> None:
        """Put the object there whole, whatever was there before."""
        await obstore.put_async(self.store, key, data, mode="overwrite")

    async def create(self, key: str, data: bytes) -> str:
        """Put the object there whole, or raise `ObjectChanged` if one is there."""
        return await self._put(key, data, "create")

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Put the object in place of the one read, else raise `ObjectChanged`."""
        return await self._put(key, data, json.loads(expected))

    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        """Copy a stream to the key that its digest gives; return digest and size.

        By way of a file, since the key is known at the end; over whatever is there, since a digest
        has only one content.
        """
        with tempfile.TemporaryFile() as spool:
            digest, size = await asyncio.to_thread(copy, source, cast(BinaryIO, spool))
            spool.seek(0)
            await obstore.put_async(self.store, key_of(digest), cast(BinaryIO, spool))
        return digest, size

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        digest = hashlib.sha256()
        async for piece in (await obstore.get_async(self.store, key)).stream():
            digest.update(piece)
            await asyncio.to_thread(target.write, piece)
        return digest.hexdigest()

    async def _put(self, key: str, data: bytes, mode: PutMode) -> str:
        try:
            return _version(await obstore.put_async(self.store, key, data, mode=mode))
        except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
            raise ObjectChanged(
                f"{key} is not what was read: somebody wrote it first, or an earlier try of ours whose "
                "answer was lost. Read it and decide again."
            ) from error


def _version(state: ObjectMeta | PutResult) -> str:
    """Keep what the store gave; obstore refuses the names it did not give."""
    given = {"e_tag": state["e_tag"], "version": state["version"]}
    return json.dumps({name: value for name, value in given.items() if value is not None})
