"""Objects as files in a folder. A write is atomic and survives a power cut.

obstore's local store renames whole files into place, but it never syncs them and has no conditional
replace. So this module writes to the disk, and obstore is used only for network stores.

The disk may be unmounted meanwhile: then another folder is at its place, or none. So a store never creates
its own folder, and what is written counts only if the marker of the installation is there before and after.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar, ParamSpec, TypeVar

from foja.engine import private
from foja.engine.blobs import filesystem
from foja.engine.blobs.entries import MARKER, PAGE_KEYS, Listed, check_marker
from foja.engine.blobs.transfer import copy, join
from foja.engine.private import sync
from foja.errors import ObjectChanged

MAX_FOLDERS_LOST = 100
PARTIAL = ".partial"
MANY = 8  # objects that are synced together
THREADS = 4  # that write files at the same time: each waits for the disk
# Apart from each other, and from the threads of asyncio: a slow disk or name server fills those.
_READERS, _WRITERS = ThreadPoolExecutor(8, "foja-read"), ThreadPoolExecutor(8, "foja-write")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class DiskSpool:
    """A stream that was read to its end, as a synced file beside the objects."""

    sha256: str
    size: int
    _file: Path
    _disk: Disk

    async def save(self, key: str) -> None:
        """Write the object, replacing any earlier one: a digest has only one content."""
        await _run(_WRITERS, self._disk.move, self._file, key)


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder of objects. Names that begin with a dot are internal, never keys."""

    root: Path
    identity: str = ""  # of the installation, once it has this store
    is_batched: ClassVar[bool] = True  # each write waits for the disk

    async def read(self, key: str) -> tuple[bytes, str]:
        """Return an object and its version, which is the digest of its bytes."""
        data = await _run(_READERS, (self.root / key).read_bytes)
        return data, _version(data)

    async def write(self, key: str, data: bytes) -> None:
        """Write the whole object, replacing any earlier one."""
        await _run(_WRITERS, self._write, key, data)

    async def write_many(self, objects: Mapping[str, bytes]) -> None:
        """Write many objects, with few waits for the disk."""
        each = [(self._partial(), key, data) for key, data in objects.items()]
        try:
            if len(each) >= MANY and filesystem.is_quick():
                await _run(_WRITERS, self._write_together, each)
                return
            parts = [each[at::THREADS] for at in range(min(THREADS, len(each)))]
            await asyncio.gather(*(_run(_WRITERS, self._write_each, part) for part in parts))
            await _run(_WRITERS, self._sync_above, objects)
        finally:
            for path, _, _ in each:
                path.unlink(missing_ok=True)

    async def space(self) -> tuple[int, int]:
        """Return the free and the whole space of the disk."""
        usage = await _run(_READERS, shutil.disk_usage, self.root)
        return usage.free, usage.total

    async def create(self, key: str, data: bytes) -> str:
        """Create the whole object. Raise `ObjectChanged` if the key exists."""
        if not await _run(_WRITERS, self._create, key, data):
            raise ObjectChanged(f"{key} exists already. Read it, then replace that version.")
        return _version(data)

    async def replace(self, key: str, data: bytes, expected: str) -> str:
        """Replace the version that was read. Raise `ObjectChanged` if it has changed."""
        if not await _run(_WRITERS, self._replace, key, data, expected):
            raise ObjectChanged(f"{key} has changed since it was read. Read it again, then decide.")
        return _version(data)

    async def load(self, key: str) -> tuple[bytes, str]:
        """Return the bytes of an object and their digest."""
        return await _run(_READERS, lambda: join([(self.root / key).read_bytes()]))

    @asynccontextmanager
    async def spool(self, source: BinaryIO) -> AsyncIterator[DiskSpool]:
        """Yield a synced copy of a stream: its digest, and so its key, is known only at the end."""
        path = self._partial()
        try:
            digest, size = await _run(_WRITERS, self._copy, source, path)
            yield DiskSpool(digest, size, path, self)
        finally:
            path.unlink(missing_ok=True)

    async def fetch(self, key: str, target: BinaryIO) -> str:
        """Copy an object to a file and return its digest."""
        return await _run(_READERS, self._fetch, key, target)

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        """Yield pages of the objects below a prefix, in no order; `after` leaves out smaller keys."""
        found = self._walk(prefix, after or "")
        while page := await _run(_READERS, lambda: list(islice(found, PAGE_KEYS))):
            yield page

    async def delete(self, keys: Collection[str]) -> None:
        """Delete objects; one that is not there is deleted already."""
        await _run(_WRITERS, self._delete, keys)

    async def present(self, keys: Collection[str]) -> set[str]:
        """Return those of these keys that exist."""
        return await _run(_READERS, lambda: {key for key in keys if (self.root / key).is_file()})

    async def exists(self, key: str) -> bool:
        """Return whether the store has this key."""
        return bool(await self.present([key]))

    async def forget_partial(self, before: datetime) -> None:
        """Remove temporary files that were last written before this time: their writers are gone."""
        await _run(_WRITERS, self._forget_partial, before)

    def _check(self) -> None:
        """Raise `StoreAway` unless this is the store of the installation."""
        if self.identity:
            try:
                found = (self.root / MARKER).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                found = None
            check_marker(found, self.identity)

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Raise `StoreAway` unless this is the store of the installation before and after what is done."""
        self._check()
        try:
            yield
        finally:
            self._check()

    def _forget_partial(self, before: datetime) -> None:
        with self._owned():
            for each in self._walk(PARTIAL, ""):
                if each.modified_at < before:
                    (self.root / each.key).unlink(missing_ok=True)

    def _walk(self, prefix: str, after: str) -> Iterator[Listed]:
        """Yield files below a folder as they are found; what is removed meanwhile is left out."""
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.root / prefix) as entries:
            for entry in entries:
                key = f"{prefix}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(key, after)
                elif key > after:
                    with suppress(FileNotFoundError):
                        state = entry.stat(follow_symlinks=False)
                        modified = datetime.fromtimestamp(state.st_mtime, UTC)
                        yield Listed(key, state.st_size, modified)

    def _delete(self, keys: Collection[str]) -> None:
        with self._owned():
            for key in keys:
                path = self.root / key
                path.unlink(missing_ok=True)
                with suppress(OSError):  # not empty, or gone
                    path.parent.rmdir()

    def _fetch(self, key: str, target: BinaryIO) -> str:
        with (self.root / key).open("rb") as source:
            return copy(source, target)[0]

    def _write(self, key: str, data: bytes) -> None:
        with self._owned(), self._spool(data) as temporary:
            self._place(temporary, self.root / key)

    def _write_partial(self, path: Path, data: bytes) -> None:
        """Write a synced file. Its folder is there, except for the first one."""
        try:
            private.write_file(path, data)
        except FileNotFoundError:
            private.make_folder(path.parent, self.root)
            private.write_file(path, data)

    def _write_each(self, files: Sequence[tuple[Path, str, bytes]]) -> None:
        """Write synced files and give them their keys; the caller syncs the folders above theirs."""
        with self._owned():
            for path, key, data in files:
                self._write_partial(path, data)
                self._place(path, self.root / key, synced_above=False)

    def _sync_above(self, keys: Collection[str]) -> None:
        """Sync the folders that have the folders of these keys."""
        for each in {(self.root / key).parent.parent for key in keys}:
            sync(each)

    def _write_together(self, files: Sequence[tuple[Path, str, bytes]]) -> None:
        """Write files and give them their keys: two syncs of the filesystem instead of two for each file."""
        with self._owned():
            private.make_folder(self.root / PARTIAL, self.root)
            for path, _, data in files:
                private.write_file(path, data, synced=False)
            filesystem.sync_all(self.root)  # before the renames: a key must never name half of an object
            lost = self._rename_all(files)
            filesystem.sync_all(self.root)
            for path, key, _ in lost:
                self.move(path, key)

    def _rename_all(self, files: Sequence[tuple[Path, str, bytes]]) -> Sequence[tuple[Path, str, bytes]]:
        """Rename files to their keys; return those whose folder a deletion removed meanwhile."""
        folders = {(self.root / key).parent for _, key, _ in files}
        for each in {folder.parent for folder in folders}:
            private.make_folder(each, self.root)
        for each in folders:
            filesystem.make(each)
        return [file for file in files if not filesystem.rename(file[0], self.root / file[1])]

    def move(self, temporary: Path, key: str) -> None:
        """Give a complete file a key; it keeps its own name, so that this can be repeated."""
        name = temporary.with_name(secrets.token_hex(16))
        with self._owned():
            name.hardlink_to(temporary)
            try:
                self._place(name, self.root / key)
            finally:
                name.unlink(missing_ok=True)

    def _place(self, name: Path, path: Path, *, synced_above: bool = True) -> None:
        """Move a file to its path, although a deletion may remove the empty folder in between."""
        for _ in range(MAX_FOLDERS_LOST):
            with suppress(FileNotFoundError):
                self._rename(name, path, synced_above=synced_above)
                return
            if not name.exists():
                self._check()  # else the whole store is away, and may come back
                if not name.exists():
                    return  # moved, and deleted since
        raise OSError(f"the folder {path.parent} is removed again and again")

    def _rename(self, name: Path, path: Path, *, synced_above: bool) -> None:
        """Move a file and sync its folder; a new folder is synced after the file is in it."""
        folder = path.parent
        try:
            new = filesystem.make(folder)
        except FileNotFoundError:  # the first key below the folder above it
            private.make_folder(folder.parent, self.root)
            new = filesystem.make(folder)
        name.rename(path)
        sync(folder)
        if new and synced_above:
            sync(folder.parent)

    def _create(self, key: str, data: bytes) -> bool:
        with self._owned(), self._spool(data) as temporary:
            return self._link(temporary, self._path(key))

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
        with self._owned(), self._lock():
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
    def _spool(self, data: bytes) -> Iterator[Path]:
        """Yield a synced file, to be moved or linked into place."""
        path = self._partial()
        try:
            self._write_partial(path, data)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _copy(self, source: BinaryIO, path: Path) -> tuple[str, int]:
        """Copy a stream to a new, synced file; return its digest and size."""
        with self._owned():
            private.make_folder(path.parent, self.root)
            with private.create_file(path) as file:
                digest, size = copy(source, file)
                file.flush()
                os.fsync(file.fileno())
        return digest, size

    def _partial(self) -> Path:
        return self.root / PARTIAL / secrets.token_hex(16)

    def _path(self, key: str) -> Path:
        """Return the key's path. Create its folders and sync them."""
        path = self.root / key
        private.make_folder(path.parent, self.root)
        return path


async def _run(
    threads: ThreadPoolExecutor,
    function: Callable[Arguments, Result],
    *values: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    return await asyncio.get_running_loop().run_in_executor(threads, partial(function, *values, **named))


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
