"""Objects in a network store: S3, Google Cloud Storage, Azure."""

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
    """A bucket. A version is the store's own identifier, unchanged."""

    store: ObjectStore

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version."""
        answer = await obstore.get_async(self.store, key)
        return bytes(await answer.bytes_async()), _version(answer.meta)

    async def write(self, key: str, data: bytes) -> None:
        """Write the whole object, replacing any earlier one."""
        await obstore.put_async(self.store, key, data, mode="overwrite")

    async def create(self, key: str, data: bytes) -> str:
        """Create the whole object. Raise `ObjectChanged` if the key exists."""
        return await self._put(key, data, "create")

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Replace the version that was read. Raise `ObjectChanged` if it has changed."""
        return await self._put(key, data, json.loads(expected))

    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        """Store a stream under the key of its digest. Return digest and size.

        The stream goes through a temporary file, because the key is known only at the end. An
        existing object is overwritten: a digest has only one content.
        """
        with tempfile.TemporaryFile() as spool:
            digest, size = await asyncio.to_thread(copy, source, cast(BinaryIO, spool))
            spool.seek(0)
            await obstore.put_async(self.store, key_of(digest), cast(BinaryIO, spool))
        return digest, size

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        digest = hashlib.sha256()
        async for chunk in (await obstore.get_async(self.store, key)).stream():
            digest.update(chunk)
            await asyncio.to_thread(target.write, chunk)
        return digest.hexdigest()

    async def _put(self, key: str, data: bytes, mode: PutMode) -> str:
        try:
            return _version(await obstore.put_async(self.store, key, data, mode=mode))
        except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
            raise ObjectChanged(
                f"{key} has changed since it was read: another process wrote it, or an earlier try "
                "succeeded and its answer was lost. Read it again, then decide."
            ) from error


def _version(state: ObjectMeta | PutResult) -> str:
    """Return the version as JSON. obstore refuses fields that the store did not return."""
    given = {"e_tag": state["e_tag"], "version": state["version"]}
    return json.dumps({name: value for name, value in given.items() if value is not None})
