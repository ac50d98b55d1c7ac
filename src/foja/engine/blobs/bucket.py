"""Objects in a network store: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO, ClassVar, TypeVar, cast

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from foja.engine.blobs.entries import PAGE_KEYS, Listed
from foja.engine.blobs.transfer import CHUNK_BYTES, copy, join
from foja.errors import ObjectChanged

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutMode, PutResult
    from obstore.store import ObjectStore

SMALL_BYTES = 1 << 23  # a stream up to this size is not written to a temporary file
MAX_PARALLEL = 16
Result = TypeVar("Result")
MAX_SPARSE = 4  # listed keys per wanted one; beyond it each wanted key is asked for


@dataclass(frozen=True, slots=True)
class BucketSpool:
    """A stream that was read to its end."""

    sha256: str
    size: int
    _file: BinaryIO
    _store: ObjectStore

    async def save(self, key: str) -> None:
        """Write the object, replacing any earlier one: a digest has only one content."""
        self._file.seek(0)
        data = self._file.read() if self.size <= SMALL_BYTES else self._file
        await obstore.put_async(self._store, key, data, mode="overwrite")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. A version is the store's own identifier, unchanged."""

    store: ObjectStore
    is_batched: ClassVar[bool] = False  # each write is a request of its own

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version."""
        answer = await obstore.get_async(self.store, key)
        return bytes(await answer.bytes_async()), _version(answer.meta)

    async def write(self, key: str, data: bytes) -> None:
        """Write the whole object, replacing any earlier one."""
        await obstore.put_async(self.store, key, data, mode="overwrite")

    async def write_many(self, objects: Mapping[str, bytes]) -> None:
        """Write many objects, a few at a time."""
        limit = asyncio.Semaphore(MAX_PARALLEL)

        async def write(key: str, data: bytes) -> None:
            async with limit:
                await self.write(key, data)

        await asyncio.gather(*(write(*each) for each in objects.items()))

    async def space(self) -> None:
        """Return nothing: no bucket says how much room it has."""
        return

    async def create(self, key: str, data: bytes) -> str:
        """Create the whole object. Raise `ObjectChanged` if the key exists."""
        return await self._put(key, data, "create")

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Replace the version that was read. Raise `ObjectChanged` if it has changed."""
        return await self._put(key, data, json.loads(expected))

    async def load(self, key: str) -> tuple[bytes, str]:
        """Return the bytes of an object and their digest; the event loop does not wait for many of them.

        Many arrive in chunks: as one buffer they would be copied once more. Small chunks would cost a turn of
        the event loop each, and copying a huge one would stop the loop.
        """
        answer = await obstore.get_async(self.store, key)
        if answer.range[1] <= CHUNK_BYTES:
            return join([bytes(await answer.bytes_async())])
        return await asyncio.to_thread(join, [chunk async for chunk in answer.stream(SMALL_BYTES)])

    @asynccontextmanager
    async def spool(self, source: BinaryIO) -> AsyncIterator[BucketSpool]:
        """Yield a copy of a stream: its digest, and so its key, is known only at the end."""
        with tempfile.SpooledTemporaryFile(SMALL_BYTES) as file:
            spool = cast(BinaryIO, file)
            digest, size = await asyncio.to_thread(copy, source, spool)
            yield BucketSpool(digest, size, spool, self.store)

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        digest = hashlib.sha256()
        async for chunk in (await obstore.get_async(self.store, key)).stream():
            digest.update(chunk)
            await asyncio.to_thread(target.write, chunk)
        return digest.hexdigest()

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        """Yield pages of the objects below a prefix, in the order of their keys, after this one."""
        async for page in obstore.list(self.store, prefix, offset=after, chunk_size=PAGE_KEYS):
            yield [Listed(each["path"], each["size"], each["last_modified"]) for each in page]

    async def delete(self, keys: Collection[str]) -> None:
        """Delete objects; one that is not there is deleted already."""
        await _side_by_side(self._delete, keys)

    async def present(self, keys: Collection[str]) -> set[str]:
        """Return those of these keys that exist. Many that are near each other are read from a listing."""
        wanted, found, seen = sorted(keys), set[str](), 0
        if len(wanted) <= MAX_PARALLEL:
            return await self._ask(wanted)
        before = wanted[0].rpartition("/")[0][:-1]  # not a whole folder: some servers skip what is below it
        async for page in self.list(wanted[0].partition("/")[0], before):
            found |= {each.key for each in page}.intersection(wanted)
            seen += len(page)
            if page[-1].key >= wanted[-1]:
                return found
            if seen > MAX_SPARSE * max(len(wanted), PAGE_KEYS):
                return found | await self._ask([key for key in wanted if key > page[-1].key])
        return found

    async def exists(self, key: str) -> bool:
        """Return whether the store has this key, by asking for it."""
        try:
            await obstore.head_async(self.store, key)
        except FileNotFoundError:
            return False
        return True

    async def forget_partial(self, before: datetime) -> None:
        """Do nothing: a bucket ends unfinished uploads by a rule of its own."""

    async def _ask(self, keys: Sequence[str]) -> set[str]:
        there = await _side_by_side(self.exists, keys)
        return {key for key, exists in zip(keys, there, strict=True) if exists}

    async def _delete(self, key: str) -> None:
        with suppress(FileNotFoundError):
            await obstore.delete_async(self.store, key)

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


async def _side_by_side(step: Callable[[str], Awaitable[Result]], keys: Collection[str]) -> list[Result]:
    """Do a step for each key, a few at a time, and return the results in order."""
    limit = asyncio.Semaphore(MAX_PARALLEL)

    async def one(key: str) -> Result:
        async with limit:
            return await step(key)

    return list(await asyncio.gather(*map(one, keys)))
