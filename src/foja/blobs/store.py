"""Bytes in, digest out; bytes back only if they still have that digest."""

from __future__ import annotations

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

from foja.blobs.bucket import Bucket
from foja.blobs.disk import Disk
from foja.errors import ObjectChanged, ObjectMissing, Refused, SetupFailed, Tampered, Unavailable

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


@dataclass(frozen=True, slots=True)
class Versioned:
    """An object as it was read, and the version that `replace` wants back."""

    data: bytes
    version: str


class ObjectBackend(Protocol):
    """Where objects lie. Nobody ever sees half of one."""

    async def read(self, key: str) -> tuple[bytes, str]: ...
    async def write(self, key: str, data: bytes) -> None: ...
    async def create(self, key: str, data: bytes) -> str: ...
    async def replace(self, key: str, data: bytes, expected: str) -> str: ...
    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]: ...
    async def fetch(self, key: str, target: BinaryIO) -> str: ...


@dataclass(frozen=True, slots=True)
class Store:
    """Every object of an installation."""

    _place: ObjectBackend

    async def put(self, data: bytes) -> str:
        """Keep the bytes under their own digest and return it. Ask as often as you like."""
        digest = hashlib.sha256(data).hexdigest()
        with _plainly(digest):
            try:
                await self._place.create(_key(digest), data)
            except ObjectChanged:
                await self.get(digest)
        return digest

    async def keep(self, source: BinaryIO) -> tuple[str, int]:
        """Keep a stream of any size under its digest; return digest and size. Repeating is safe."""
        with _plainly("a stream"):
            return await self._place.keep(source, _key)

    async def get(self, sha256: str) -> bytes:
        """Return the bytes with this digest, or raise `ObjectMissing` or `Tampered`."""
        data = (await self.read(_key(sha256))).data
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _damaged(sha256)
        return data

    async def fetch(self, sha256: str, target: BinaryIO) -> None:
        """Write the bytes with this digest to a file, a piece at a time; raise at the end if they lie."""
        with _plainly(sha256):
            found = await self._place.fetch(_key(sha256), target)
        if found != sha256:
            raise _damaged(sha256)

    async def read(self, key: str) -> Versioned:
        """Return what is there now, or raise `ObjectMissing`."""
        with _plainly(key):
            return Versioned(*await self._place.read(_checked(key)))

    async def write(self, key: str, data: bytes) -> None:
        """Put an object there whatever was there; only for bytes that never change."""
        with _plainly(key):
            await self._place.write(_checked(key), data)

    async def replace(self, key: str, data: bytes, expected: str | None) -> str:
        """Put an object in the place of the version read and return its own version.

        `expected` None means that nothing may be there yet. Raises `ObjectChanged` if somebody was faster.
        """
        with _plainly(key):
            if expected is None:
                return await self._place.create(_checked(key), data)
            return await self._place.replace(_checked(key), data, expected)


def _damaged(sha256: str) -> Tampered:
    return Tampered(
        f"the object {sha256} is in the store with other bytes: it was changed or damaged. "
        "Nothing was returned; restore it from a backup."
    )


def open_store(url: str) -> Store:
    """Return the store at `file:///folder`, `s3://…`, `gs://…` or `az://…`."""
    try:
        return Store(_disk(url) if urlsplit(url).scheme == "file" else Bucket(from_url(url)))
    except (BaseError, OSError, ValueError) as error:
        raise SetupFailed(
            f"the object store {url!r} cannot be used: {_first_line(error)}. "
            "Set FOJA_STORAGE_URL to file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container."
        ) from error


def _disk(url: str) -> Disk:
    parts = urlsplit(url)
    if parts.netloc or not parts.path.startswith("/"):
        raise ValueError("a folder is written with three slashes, file:///folder")
    root = Path(unquote(parts.path))
    root.mkdir(parents=True, exist_ok=True)
    return Disk(root)


def _key(sha256: str) -> str:
    """Return where the first generation of this digest lies."""
    return f"objects/{sha256}/0"


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise Refused(
            f"{key!r} is not a key: it could lead out of the store. "
            "Use words of letters, digits, '.', '_' and '-' that do not begin with a dot, joined by '/'."
        )
    return key


@contextmanager
def _plainly(key: str) -> Iterator[None]:
    """Turn what disks and networks say into errors of ours."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise ObjectMissing(f"the store has no object {key}. It was never put there, or removed.") from error
    except (BaseError, OSError) as error:
        raise Unavailable(
            f"the store did not take or give {key}: {_first_line(error)}. Try again; repeating is safe."
        ) from error


def _first_line(error: Exception) -> str:
    """Leave out the debug text that obstore adds."""
    return str(error).partition("\n")[0]
