"""Store objects under their SHA-256 digest, and check the digest on every read."""

from __future__ import annotations

import errno
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import from_url

from foja.engine import private
from foja.engine.blobs.bucket import Bucket
from foja.engine.blobs.disk import Disk
from foja.engine.blobs.entries import MARKER, Listed, StoreAway, check_marker
from foja.engine.faults import Reports, unreported
from foja.errors import ObjectMissing, Refused, SetupFailed, Tampered, Unavailable

OBJECTS, LOG = "objects", "log"
AWAY = "store_away"  # the code of an error: another store is at its place, or none
READ, WRITE = "store", "store:write"  # the parts whose health is told
TRIED = "health/tried"
# What S3, Google and Azure answer to a write without room.
_FULL = re.compile(r"QuotaExceeded|InsufficientStorage|StorageFull|\b507\b|No space left", re.IGNORECASE)
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


@dataclass(frozen=True, slots=True)
class Versioned:
    """An object as it was read, and the version that `replace` expects."""

    data: bytes
    version: str


class Spool(Protocol):
    """A stream that was read to its end and is not in the store yet. It can be saved more than once."""

    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...
    async def save(self, key: str) -> None: ...


class ObjectBackend(Protocol):
    """Where objects are stored. Writes are atomic: no reader sees a partial object."""

    @property
    def is_batched(self) -> bool: ...
    async def read(self, key: str) -> tuple[bytes, str]: ...
    async def write(self, key: str, data: bytes) -> None: ...
    async def write_many(self, objects: Mapping[str, bytes]) -> None: ...
    async def create(self, key: str, data: bytes) -> str: ...
    async def replace(self, key: str, data: bytes, expected: str) -> str: ...
    async def load(self, key: str) -> tuple[bytes, str]: ...
    async def fetch(self, key: str, target: BinaryIO) -> str: ...
    async def delete(self, keys: Collection[str]) -> None: ...
    async def present(self, keys: Collection[str]) -> set[str]: ...
    async def exists(self, key: str) -> bool: ...
    async def forget_partial(self, before: datetime) -> None: ...
    async def space(self) -> tuple[int, int] | None: ...
    def spool(self, source: BinaryIO) -> AbstractAsyncContextManager[Spool]: ...
    def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]: ...


@dataclass(frozen=True, slots=True)
class Store:
    """All objects of an installation, at a place that messages name."""

    _backend: ObjectBackend
    _place: str = ""
    _report: Reports = unreported
    _identity: str = ""  # of the installation; empty before its first start

    @property
    def is_batched(self) -> bool:
        """Whether `write_many` takes much less than as many calls of `write` at the same time."""
        return self._backend.is_batched

    @asynccontextmanager
    async def spool(self, source: BinaryIO) -> AsyncIterator[Spool]:
        """Yield a copy of a stream of any size, to be saved under the key of its digest."""
        async with self._our_errors("a stream", WRITE), self._backend.spool(source) as spool:
            yield spool

    async def save(self, spool: Spool, key: str) -> None:
        """Write a stream as an object, replacing any earlier one. Repeating is safe."""
        async with self._our_errors(key, WRITE):
            await spool.save(_checked(key))

    async def get(self, sha256: str, generation: int = 0) -> bytes:
        """Return the bytes with this digest, or raise `ObjectMissing` or `Tampered`."""
        async with self._our_errors(sha256):
            data, found = await self._backend.load(_checked(object_key(sha256, generation)))
        if found != sha256:
            raise _damaged(sha256)
        return data

    async def fetch(self, sha256: str, target: BinaryIO, generation: int = 0) -> None:
        """Write the bytes with this digest to a file in chunks. Raise `Tampered` if they differ."""
        async with self._our_errors(sha256):
            found = await self._backend.fetch(_checked(object_key(sha256, generation)), target)
        if found != sha256:
            raise _damaged(sha256)

    async def objects(self) -> AsyncIterator[Sequence[Listed]]:
        """Yield pages of everything below `objects/`: what is there now, in the order of the store."""
        async with self._our_errors(OBJECTS):
            async for page in self._listed(OBJECTS):
                yield page

    async def log_files(self) -> AsyncIterator[Sequence[Listed]]:
        """Yield pages of everything below `log/`, for a backup."""
        async with self._our_errors(LOG):
            async for page in self._listed(LOG):
                yield page

    async def delete(self, keys: Collection[str]) -> None:
        """Delete objects, and nothing else; one that is not there is deleted already."""
        async with self._our_errors("objects", WRITE):
            await self._backend.delete([_object(key) for key in keys])

    async def present(self, keys: Collection[str]) -> set[str]:
        """Return those of these objects that the store has or lists."""
        async with self._our_errors("objects"):
            found = await self._backend.present([_object(key) for key in keys])
            if len(found) < len(set(keys)):
                await self._check()
            return found

    async def exists(self, key: str) -> bool:
        """Return whether the store has this object, by asking for it and not by a listing."""
        async with self._our_errors(key):
            if found := await self._backend.exists(_object(key)):
                return found
            await self._check()
            return False

    async def forget_partial(self, before: datetime) -> None:
        """Remove what writers that were killed before this time left unfinished."""
        async with self._our_errors("temporary files", WRITE):
            await self._backend.forget_partial(before)

    async def read(self, key: str) -> Versioned:
        """Return the current object, or raise `ObjectMissing`."""
        async with self._our_errors(key):
            return Versioned(*await self._backend.read(_checked(key)))

    async def write(self, key: str, data: bytes) -> None:
        """Write an object, replacing any earlier one. Only for bytes that never change."""
        async with self._our_errors(key, WRITE):
            await self._backend.write(_checked(key), data)

    async def write_many(self, objects: Mapping[str, bytes]) -> None:
        """Write many objects; all of them are in the store when it returns. Repeating is safe."""
        async with self._our_errors("objects", WRITE):
            await self._backend.write_many({_checked(key): data for key, data in objects.items()})

    async def replace(self, key: str, data: bytes, expected: str | None) -> str:
        """Replace the version that was read and return the new version.

        `expected` None means that the key must not exist. Raise `ObjectChanged` if another process was first.
        """
        async with self._our_errors(key, WRITE):
            if expected is None:
                return await self._backend.create(_checked(key), data)
            return await self._backend.replace(_checked(key), data, expected)

    async def try_write(self) -> None:
        """Write a small object that nothing reads, to see whether the store takes one."""
        await self.write(TRIED, b"written now and then to see whether this store takes objects\n")

    async def check(self) -> None:
        """Raise `Unavailable` unless the store answers, and is that of the installation."""
        async with self._our_errors(MARKER):
            await self._check()

    async def space(self) -> tuple[int, int] | None:
        """Return the free and the whole space of the disk that has the store; None: a bucket tells none."""
        async with self._our_errors("its free space"):
            await self._check()
            return await self._backend.space()

    async def _check(self) -> None:
        """Raise `StoreAway` unless this is the store of the installation.

        A disk checks every write too. Below a bucket nothing is unmounted: it is asked if a key is missing.
        """
        if self._identity:
            try:
                found, _ = await self._backend.read(MARKER)
            except (FileNotFoundError, NotADirectoryError):
                check_marker(None, self._identity)
            else:
                check_marker(found, self._identity)

    async def _listed(self, prefix: str) -> AsyncIterator[Sequence[Listed]]:
        """Yield the pages of a listing; a store that is away has no empty one."""
        await self._check()
        async for page in self._backend.list(prefix):
            yield page
        await self._check()

    @asynccontextmanager
    async def _our_errors(self, key: str, use: str = READ) -> AsyncIterator[None]:
        """Translate errors of disks and networks to ours, with the place of the store, and report them.

        What is missing in another store may be in ours: that is no answer.
        """
        try:
            try:
                yield
            except (FileNotFoundError, NotADirectoryError):
                await self._check()
                raise
            self._report(use, None)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            self._report(READ, None)  # it answers
            raise ObjectMissing(
                f"the store has no object {key}: it was never stored, or was removed."
            ) from error
        except (BaseError, OSError) as error:
            failed = self._unavailable(key, error)
            self._report(use, failed)
            raise failed from error

    def _unavailable(self, key: str, error: Exception) -> Unavailable:
        if isinstance(error, StoreAway):
            away = Unavailable(
                f"the store {self._place} is not that of this installation: {error}. "
                "Mount its disk, or put its folder back; repeating is safe."
            )
            away.code = AWAY
            return away
        full = is_full(error)
        failed = Unavailable(
            f"the store {self._place} {'is full: it ' if full else ''}could not read or write {key}: "
            f"{_first_line(error)}. {'Free space there' if full else 'Try again'}; repeating is safe."
        )
        if full:
            failed.code = "store_full"
        return failed


def is_full(error: Exception) -> bool:
    """Return whether a disk or a bucket says that it has no room."""
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return bool(_FULL.search(str(error)))


def _damaged(sha256: str) -> Tampered:
    return Tampered(
        f"the stored bytes of object {sha256} have another digest: they were changed or damaged. "
        "Nothing was returned; restore it from a backup."
    )


def open_store(url: str, report: Reports = unreported, *, identity: str = "") -> Store:
    """Return the store at `file:///folder`, `s3://…`, `gs://…` or `az://…`.

    With the identity of an installation, it is that one's or away: it is never created, and another is never
    written to.
    """
    try:
        is_file = urlsplit(url).scheme == "file"
        backend = _disk(url, identity) if is_file else Bucket(from_url(url))
        return Store(backend, url, report, identity)
    except (BaseError, OSError, ValueError) as error:
        raise SetupFailed(
            f"the object store {url!r} cannot be used: {_first_line(error)}. "
            "Set FOJA_STORAGE_URL to file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container."
        ) from error


def _disk(url: str, identity: str) -> Disk:
    parts = urlsplit(url)
    if parts.netloc or not parts.path.startswith("/"):
        raise ValueError("a folder needs three slashes: file:///folder")
    root = Path(unquote(parts.path))
    if not identity:
        private.make_folder(root)
    if root.is_dir():
        private.close_store(root)
    return Disk(root, identity)


def object_key(sha256: str, generation: int) -> str:
    """Return the key of one generation of this digest."""
    return f"{OBJECTS}/{sha256}/{generation}"


def _object(key: str) -> str:
    """Return the key of an object, or raise `Refused`: the log and everything else is never touched."""
    if not _checked(key).startswith(f"{OBJECTS}/"):
        raise Refused(f"{key} is not the key of an object; only what is below {OBJECTS}/ is deleted")
    return key


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise Refused(
            f"{key!r} is not a valid key: it could lead out of the store. "
            "Use names of letters, digits, '.', '_' and '-' that do not begin with a dot, joined by '/'."
        )
    return key


def _first_line(error: Exception) -> str:
    """Return the message without the debug text that obstore adds."""
    return str(error).partition("\n")[0]
