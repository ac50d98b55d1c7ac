"""Objects as files in a folder. A write is atomic and survives a power cut.

obstore's local store renames whole files into place, but it never syncs them and has no conditional
replace. So this module writes to the disk, and obstore is used only for network stores.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import io
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from foja import private
from foja.blobs.transfer import copy
from foja.errors import ObjectChanged
from foja.private import sync


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder of objects. Names that begin with a dot are internal, never keys."""

    root: Path

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version, which is the digest of its bytes."""
        data = await asyncio.to_thread((self.root / key).read_bytes)
        return data, _version(data)

    async def write(self, key: str, data: bytes) -> None:
        """Write the whole object, replacing any earlier one."""
        await asyncio.to_thread(self._write, key, data)

    async def create(self, key: str, data: bytes) -> str:
        """Create the whole object. Raise `ObjectChanged` if the key exists."""
        if not await asyncio.to_thread(self._create, key, data):
            raise ObjectChanged(f"{key} exists already. Read it, then replace that version.")
        return _version(data)

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Replace the version that was read. Raise `ObjectChanged` if it has changed."""
        if not await asyncio.to_thread(self._replace, key, data, expected):
            raise ObjectChanged(f"{key} has changed since it was read. Read it again, then decide.")
        return _version(data)

    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        """Store a stream under the key of its digest. Return digest and size."""
        return await asyncio.to_thread(self._keep, source, key_of)

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        return await asyncio.to_thread(self._fetch, key, target)

    def _fetch(self, key: str, target: BinaryIO) -> str:
        with (self.root / key).open("rb") as source:
            return copy(source, target)[0]

    def _keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        with self._spool(source) as (temporary, digest, size):
            self._link(temporary, self._path(key_of(digest)))
        return digest, size

    def _write(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with self._spool(io.BytesIO(data)) as (temporary, _, _):
            temporary.rename(path)
        sync(path.parent)

    def _create(self, key: str, data: bytes) -> bool:
        path = self._path(key)
        with self._spool(io.BytesIO(data)) as (temporary, _, _):
            return self._link(temporary, path)

    def _link(self, temporary: Path, path: Path) -> bool:
        """Link a complete file to its path. Return False if the path exists."""
        try:
            path.hardlink_to(temporary)
            return True
        except FileExistsError:
            return False
        finally:
            sync(path.parent)  # the process that was first may not have synced it yet

    def _replace(self, key: str, data: bytes, expected: str) -> bool:
        path = self.root / key
        with self._lock():
            if not path.exists() or _version(path.read_bytes()) != expected:
                return False
            self._write(key, data)
        return True

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Let one process at a time compare and replace. The kernel releases the lock after a kill."""
        lock = private.open_file(self.root / ".lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _spool(self, source: BinaryIO) -> Iterator[tuple[Path, str, int]]:
        """Yield a synced copy of a stream, to be moved or linked into place, with its digest and size."""
        path = self.root / ".partial" / secrets.token_hex(16)
        private.make_folder(path.parent)
        try:
            with private.create_file(path) as file:
                digest, size = copy(source, file)
                file.flush()
                os.fsync(file.fileno())
            yield path, digest, size
        finally:
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        """Return the key's path. Create its folders and sync them."""
        path = self.root / key
        private.make_folder(path.parent)
        return path


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
