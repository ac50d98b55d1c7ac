"""Objects as files of a folder: whole or absent, and safe from a power cut.

obstore's local store renames whole files into place, but never syncs them and cannot replace only what was
read. So the disk is written here, and obstore keeps the stores that are reached through a network.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from foja.blobs.transfer import copy
from foja.durable import sync
from foja.errors import ObjectChanged


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder of objects. Names that begin with a dot are its own, never keys."""

    root: Path

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version, which is the digest of its bytes."""
        data = await asyncio.to_thread((self.root / key).read_bytes)
        return data, _version(data)

    async def write(self, key: str, data: bytes) -> None:
        """Put the object there whole, whatever was there before."""
        await asyncio.to_thread(self._write, key, data)

    async def create(self, key: str, data: bytes) -> str:
        """Put the object there whole, or raise `ObjectChanged` if one is there."""
        if not await asyncio.to_thread(self._create, key, data):
            raise ObjectChanged(f"{key} exists already. Read it, and replace what was read.")
        return _version(data)

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Put the object in place of the one read, else raise `ObjectChanged`."""
        if not await asyncio.to_thread(self._replace, key, data, expected):
            raise ObjectChanged(
                f"{key} is not what was read: somebody replaced it. Read it and decide again."
            )
        return _version(data)

    async def keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        """Copy a stream to the key that its digest gives; return digest and size."""
        return await asyncio.to_thread(self._keep, source, key_of)

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        return await asyncio.to_thread(self._fetch, key, target)

    def _fetch(self, key: str, target: BinaryIO) -> str:
        with (self.root / key).open("rb") as source:
            return copy(source, target)[0]

    def _keep(self, source: BinaryIO, key_of: Callable[[str], str]) -> tuple[str, int]:
        with self._partial() as path:
            with path.open("xb") as file:
                digest, size = copy(source, file)
                _sync_file(file)
            self._link(path, self._place(key_of(digest)))
        return digest, size

    def _write(self, key: str, data: bytes) -> None:
        place = self._place(key)
        with self._written(data) as whole:
            whole.rename(place)
        sync(place.parent)

    def _create(self, key: str, data: bytes) -> bool:
        place = self._place(key)
        with self._written(data) as whole:
            return self._link(whole, place)

    def _link(self, whole: Path, place: Path) -> bool:
        """Give a whole file its name, unless one is there."""
        try:
            place.hardlink_to(whole)
            return True
        except FileExistsError:
            return False
        finally:
            sync(place.parent)  # whoever was first may not have synced it yet

    def _replace(self, key: str, data: bytes, expected: str) -> bool:
        path = self.root / key
        with self._alone():
            if not path.exists() or _version(path.read_bytes()) != expected:
                return False
            self._write(key, data)
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time compare and replace; the kernel frees it after a kill."""
        with (self.root / ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _written(self, data: bytes) -> Iterator[Path]:
        """Yield a synced file of these bytes, to be moved or linked into place."""
        with self._partial() as path:
            with path.open("xb") as file:
                file.write(data)
                _sync_file(file)
            yield path

    @contextmanager
    def _partial(self) -> Iterator[Path]:
        """Yield a path for something that is not whole yet; what is left there goes."""
        path = self.root / ".partial" / secrets.token_hex(16)
        path.parent.mkdir(exist_ok=True)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _place(self, key: str) -> Path:
        """Return the key's path, with its folders made and synced."""
        path = self.root / key
        missing = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync(folder.parent)
        return path


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
