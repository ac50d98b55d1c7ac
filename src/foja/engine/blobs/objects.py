"""Objects and their rows: an intent, the bytes, a live object; and reading what a tenant refers to.

The event that names an object makes the reference, in its own transaction. If the object was purged between
the two, the event is refused with `ObjectMissing`, and `until_referred` stores the bytes again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from foja.engine import sql
from foja.engine.blobs.batch import Batch
from foja.engine.blobs.store import Store, object_key
from foja.engine.blobs.transfer import digest
from foja.engine.driver.database import Database
from foja.errors import Busy, ObjectMissing
from foja.pure.core.registry import check_digest

MAX_TRIES = 5
SMALL_BYTES = 1 << 18  # contents up to this size are stored together, if the store gains by it
TOGETHER = 8  # at most: while they are written, those that came next have their rows written
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Bytes that are in the store and wait for an event to refer to them."""

    sha256: str
    size: int
    generation: int


class Objects:
    """The objects of an installation, each stored once for all tenants.

    A tenant may refer to what it stored itself, and read what it refers to.
    """

    def __init__(self, store: Store, database: Database, operator: Database, tenant: str) -> None:
        """`operator` are connections of the role that records what this process stored."""
        self.store, self._database, self._operator, self._tenant = store, database, operator, tenant
        self._intents, self._endings = Batch(self._begin), Batch(self._finish)
        self._contents = Batch(self._store_together, items=TOGETHER)
        self._references = Batch(self._find, senders=1)  # the larger its batches, the cheaper is each read

    def of(self, tenant: str) -> Objects:
        """Return the same objects, stored for another tenant."""
        other = copy(self)
        other._tenant = tenant
        return other

    async def put(self, data: bytes) -> StoredObject:
        """Store bytes. Repeating is safe, and takes the same work if they are stored already."""
        sha256 = await digest(data)
        if self.store.is_batched and len(data) <= SMALL_BYTES:
            return await self._contents.ask((self._tenant, sha256, data))
        return await self._store(self._tenant, sha256, data)

    async def put_many(self, contents: Sequence[bytes]) -> list[StoredObject]:
        """Store many small contents with two statements and few waits for the disk. Repeating is safe."""
        if not contents:
            return []
        return await self._store_many(
            [(self._tenant, hashlib.sha256(data).hexdigest(), data) for data in contents]
        )

    async def keep(self, source: BinaryIO) -> StoredObject:
        """Store a stream of any size. Repeating is safe, and takes the same work if it is stored already."""
        async with self.store.spool(source) as spool:
            return await self._save(
                self._tenant, spool.sha256, spool.size, lambda key: self.store.save(spool, key)
            )

    async def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes that this tenant refers to, or raise `ObjectMissing` or `Tampered`."""
        return await self.store.get(sha256, await self._generation(tenant, sha256))

    async def fetch(self, tenant: str, sha256: str, target: BinaryIO) -> None:
        """Write the bytes that this tenant refers to into a file, in chunks; raise as `get` does."""
        await self.store.fetch(sha256, target, await self._generation(tenant, sha256))

    async def _store(self, tenant: str, sha256: str, data: bytes) -> StoredObject:
        return await self._save(tenant, sha256, len(data), lambda key: self.store.write(key, data))

    async def _store_together(self, objects: Sequence[tuple[str, str, bytes]]) -> list[StoredObject]:
        """Store the contents of callers that came at the same time; each comes with its tenant and digest."""
        return [await self._store(*objects[0])] if len(objects) == 1 else await self._store_many(objects)

    async def _store_many(self, objects: Sequence[tuple[str, str, bytes]]) -> list[StoredObject]:
        tenants, digests, contents = zip(*objects, strict=True)
        sizes = list(map(len, contents))
        generations = await self._begin(list(zip(tenants, digests, sizes, strict=True)))
        keys = map(object_key, digests, generations)
        await self.store.write_many(dict(zip(keys, contents, strict=True)))
        finished = await self._finish(list(zip(digests, generations, strict=True)))
        stored = map(StoredObject, digests, sizes, generations)
        return [
            each if live else await self._store(tenant, each.sha256, data)  # a purge was in between
            for tenant, each, data, live in zip(tenants, stored, contents, finished, strict=True)
        ]

    async def _save(
        self, tenant: str, sha256: str, size: int, save: Callable[[str], Awaitable[None]]
    ) -> StoredObject:
        """Write an intent, the bytes, and that they are live. A purge in between takes another generation."""
        for _ in range(MAX_TRIES):
            generation = await self._intents.ask((tenant, sha256, size))
            await save(object_key(sha256, generation))
            if await self._endings.ask((sha256, generation)):
                return StoredObject(sha256, size, generation)
        raise Busy(f"the object {sha256} was purged while it was stored, {MAX_TRIES} times; try again")

    async def _begin(self, objects: Sequence[tuple[str, str, int]]) -> list[int]:
        """Return the generation to write each digest to; each comes with its tenant and its size."""
        tenants, digests, sizes = map(list, zip(*objects, strict=True))
        rows = await self._rows("begin_objects", tenant=tenants, sha256=digests, size=sizes)
        return [number for _, number in sorted(rows)]

    async def _finish(self, objects: Sequence[tuple[str, int]]) -> list[bool]:
        """Return of each of these digests and generations whether it is live."""
        digests, generations = map(list, zip(*objects, strict=True))
        rows = await self._rows("finish_objects", sha256=digests, generation=generations)
        return [live for _, live in sorted(rows)]

    async def _generation(self, tenant: str, sha256: str) -> int:
        found = await self._references.ask((tenant, check_digest(sha256)))
        if found is None:  # whether another tenant has it does not show
            raise ObjectMissing(f"there is no object {sha256}: it was never stored, or was removed.")
        return found

    async def _find(self, wanted: Sequence[tuple[str, str]]) -> list[int | None]:
        """Return the generation of each of these digests that its tenant refers to."""
        found = dict[tuple[str, str], int]()
        for tenant in {tenant for tenant, _ in wanted}:
            digests = [sha256 for owner, sha256 in wanted if owner == tenant]
            query = sql.query("referred_generations")
            rows = await self._database.of(tenant).rows(query, sha256=digests, tenant=tenant)
            found |= {(tenant, sha256): generation for sha256, generation in rows}
        return [found.get(each) for each in wanted]

    async def _rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        return await self._operator.rows(sql.query(name), **values)


async def until_referred(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Store and refer again if a purge came between the two; `attempt` does both."""
    for _ in range(MAX_TRIES - 1):
        try:
            return await attempt()
        except ObjectMissing:
            await asyncio.sleep(0)
    return await attempt()
