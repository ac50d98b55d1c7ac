"""Store objects under their SHA-256 digest, and check the digest on every read."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import from_url

from foja import private
from foja.blobs.bucket import Bucket
from foja.blobs.disk import Disk
from foja.errors import ObjectChanged, ObjectMissing, Refused, SetupFailed, Tampered, Unavailable

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


@dataclass(frozen=True, slots=True)
class Versioned:
    """An object as it was read, and the version that `replace` expects."""

    data: bytes
    version: str


class ObjectBackend(Protocol):
    """Where objects are stored. Writes are atomic: no reader sees a partial object."""

    async def read(self, key: str) -> tuple[bytes, str]: ...
    async def write(self, key: str, data: bytes) -> None: ...
    async def create(self, key: str, data: bytes) -> str: ...
    async def replace(self, key: str, data: bytes, expected: str) -> str: ...
    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]: ...
    async def fetch(self, key: str, target: BinaryIO) -> str: ...


@dataclass(frozen=True, slots=True)
class Store:
    """All objects of an installation, at a place that messages name."""

    _backend: ObjectBackend
    _place: str = ""

    async def put(self, data: bytes) -> str:
        """Store the bytes under their digest and return it. Repeating is safe."""
        digest = hashlib.sha256(data).hexdigest()
        with self._our_errors(digest):
            try:
                await self._backend.create(_key(digest), data)
            except ObjectChanged:
                await self.get(digest)
        return digest

    async def keep(self, source: BinaryIO) -> tuple[str, int]:
        """Store a stream of any size under its digest. Return digest and size. Repeating is safe."""
        with self._our_errors("a stream"):
            return await self._backend.keep(source, _key)

    async def get(self, sha256: str) -> bytes:
        """Return the bytes with this digest, or raise `ObjectMissing` or `Tampered`."""
        data = (await self.read(_key(sha256))).data
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _damaged(sha256)
        return data

    async def fetch(self, sha256: str, target: BinaryIO) -> None:
        """Write the bytes with this digest to a file in chunks. Raise `Tampered` if they differ."""
        with self._our_errors(sha256):
            found = await self._backend.fetch(_key(sha256), target)
        if found != sha256:
            raise _damaged(sha256)

    async def read(self, key: str) -> Versioned:
        """Return the current object, or raise `ObjectMissing`."""
        with self._our_errors(key):
            return Versioned(*await self._backend.read(_checked(key)))

    async def write(self, key: str, data: bytes) -> None:
        """Write an object, replacing any earlier one. Only for bytes that never change."""
        with self._our_errors(key):
            await self._backend.write(_checked(key), data)

    async def replace(self, key: str, data: bytes, expected: str | None) -> str:
        """Replace the version that was read and return the new version.

        `expected` None means that the key must not exist. Raise `ObjectChanged` if another process was first.
        """
        with self._our_errors(key):
            if expected is None:
                return await self._backend.create(_checked(key), data)
            return await self._backend.replace(_checked(key), data, expected)

    @contextmanager
    def _our_errors(self, key: str) -> Iterator[None]:
        """Translate errors of disks and networks to ours, with the place of the store."""
        try:
            yield
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise ObjectMissing(
                f"the store has no object {key}: it was never stored, or was removed."
            ) from error
        except (BaseError, OSError) as error:
            full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
            advice = "Free space there" if full else "Try again"
            raise Unavailable(
                f"the store {self._place} could not read or write {key}: {_first_line(error)}. "
                f"{advice}; repeating is safe."
            ) from error


def _damaged(sha256: str) -> Tampered:
    return Tampered(
        f"the stored bytes of object {sha256} have another digest: they were changed or damaged. "
        "Nothing was returned; restore it from a backup."
    )


def open_store(url: str) -> Store:
    """Return the store at `file:///folder`, `s3://…`, `gs://…` or `az://…`."""
    try:
        return Store(_disk(url) if urlsplit(url).scheme == "file" else Bucket(from_url(url)), url)
    except (BaseError, OSError, ValueError) as error:
        raise SetupFailed(
            f"the object store {url!r} cannot be used: {_first_line(error)}. "
            "Set FOJA_STORAGE_URL to file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container."
        ) from error


def _disk(url: str) -> Disk:
    parts = urlsplit(url)
    if parts.netloc or not parts.path.startswith("/"):
        raise ValueError("a folder needs three slashes: file:///folder")
    root = Path(unquote(parts.path))
    private.make_folder(root)
    private.close_store(root)
    return Disk(root)


def _key(sha256: str) -> str:
    """Return the key of the first generation of this digest."""
    return f"objects/{sha256}/0"


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
