"""Restore a backup: check all of it, then build an installation in an empty home and an empty database.

The database is built and filled in one transaction. While files are written, a marker in the home says that
the installation is not complete, and it does not start.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from foja.domains.backup import description as d
from foja.domains.backup.archive import ArchiveReader, Part
from foja.domains.backup.tables import Transfer, writing
from foja.engine import private
from foja.engine.blobs.store import Store
from foja.engine.driver.address import address
from foja.engine.identity import NAME, check_key
from foja.engine.private import UNFINISHED
from foja.engine.settings import Settings
from foja.errors import Malformed, ObjectChanged, ObjectMissing, SetupFailed, Tampered

SMALL_OBJECT, BATCH_BYTES, PAGE_KEYS = 1 << 20, 8 << 20, 1000
MAX_HOME_FILE = 1 << 16
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """A backup that is whole."""

    description: d.Description
    digest: str


def check_backup(source: BinaryIO, size: int, progress: Progress | None = None) -> Checked:
    """Read a backup to its end and compare every digest. Raise `Malformed` or `Tampered`."""
    reader = ArchiveReader(source)
    found, parts = d.parts_of(reader)
    for _ in parts:
        if progress:
            progress(source.tell(), size)
    return Checked(found, reader.digest)


class BackupReader:
    """Restores one backup into one home, one store and one database."""

    def __init__(self, settings: Settings, store: Store, backup: Checked) -> None:
        self._settings, self._store, self._backup = settings, store, backup
        self._batch: dict[str, bytes] = {}
        self._missing: set[str] = set()

    async def restore(self, url: str, source: BinaryIO, size: int, progress: Progress | None = None) -> None:
        """Restore everything. What is refused is refused before anything is written.

        Until `finish` the installation does not start. A repetition does what an earlier try did not do.
        """
        async with writing(url) as transfer:
            if await self._is_loaded(transfer, url):
                return
            await self._check_store()
            self._mark()
            await self._claim_store()
            await transfer.build(self._backup.description.schema_steps)
            await transfer.begin(self._backup.description)
            reader = ArchiveReader(source)
            found, parts = d.parts_of(reader)
            for part in parts:
                await self._restore_part(transfer, part)
                if progress:
                    progress(source.tell(), size)
            if (found, reader.digest) != (self._backup.description, self._backup.digest):
                raise Tampered("the backup changed while it was read; nothing was restored")
            await self._flush()
            await transfer.finish(found)
            await self._check_whole(transfer)

    def finish(self) -> None:
        """Let the installation start."""
        home = self._settings.home
        with suppress(FileExistsError):
            private.create_whole(home / NAME, f"{self._backup.description.installation}\n".encode())
        (home / UNFINISHED).unlink()
        private.sync(home)

    async def _is_loaded(self, transfer: Transfer, url: str) -> bool:
        """Return whether an earlier try has loaded the database; raise `SetupFailed` if others use it."""
        [(used,)] = await transfer.rows("has_schema")
        if not used:
            return False
        if (self._settings.home / UNFINISHED).exists():
            [(installation_id, *_)] = await transfer.rows("installation")
            if installation_id == self._backup.description.installation:
                return True
        raise _not_empty(self._settings, f"the database {address(url)} has a schema foja")

    async def _restore_part(self, transfer: Transfer, part: Part) -> None:
        kind = part.name.partition("/")[0]
        if kind == d.DATABASE:
            await transfer.copy_in(part)
        elif kind in d.HOME:
            self._write_home(part)
        elif kind == d.MISSING:
            self._missing = set(part.read().decode().split())
        elif not self._backup.description.store:
            raise Malformed(f"the backup has {part.name}, but says that it has no store")
        else:
            await self._write_store(part)

    def _write_home(self, part: Part) -> None:
        if part.size > MAX_HOME_FILE:
            raise Malformed(f"{part.name} of the backup is too large for a key")
        path = self._settings.home / part.name
        private.make_folder(path.parent)
        private.write_file(path, part.read())

    async def _write_store(self, part: Part) -> None:
        """Write small files a few at a time, and large ones as streams."""
        if part.size > SMALL_OBJECT:
            async with self._store.spool(cast(BinaryIO, part)) as spool:
                _check_digest(part, spool.sha256)
                await self._store.save(spool, part.name)
            return
        data = part.read()
        _check_digest(part, hashlib.sha256(data).hexdigest())
        self._batch[part.name] = data
        if sum(map(len, self._batch.values())) > BATCH_BYTES or len(self._batch) >= PAGE_KEYS:
            await self._flush()

    async def _flush(self) -> None:
        await self._store.write_many(self._batch)
        self._batch.clear()

    async def _check_whole(self, transfer: Transfer) -> None:
        """Check that the key signed the log, and that the store has every object, before all is committed."""
        for note, *_ in await transfer.rows("newest_note"):
            check_key(self._settings, self._backup.description.installation, note)
        keys = [key for (key,) in await transfer.rows("stored_objects") if key not in self._missing]
        for at in range(0, len(keys), PAGE_KEYS):
            page = keys[at : at + PAGE_KEYS]
            if absent := sorted(set(page) - await self._store.present(page)):
                raise SetupFailed(
                    f"the store {self._settings.store_url} does not have {absent[0]}, and maybe others. "
                    "They are not in this backup; copy the installation's store there, then restore again"
                )

    async def _check_store(self) -> None:
        """Raise `SetupFailed` unless the store is empty, or the installation's own if the backup has none."""
        own, kept = f"{self._backup.description.installation}\n".encode(), await self._read_installation()
        included, resumed = self._backup.description.store, (self._settings.home / UNFINISHED).exists()
        if included and kept is None and not await _is_empty(self._store):
            kept = b"an unknown installation"
        if kept is not None and ((included and not resumed) or kept != own):
            owner = kept.decode(errors="replace").strip()[:80]
            raise _not_empty(self._settings, f"the store {self._settings.store_url} has files of {owner}")
        if not included and kept is None:
            raise SetupFailed(
                f"this backup has no objects, and the store {self._settings.store_url} does not have them. "
                "Set FOJA_STORAGE_URL to the store of the installation, or copy it there first"
            )

    async def _claim_store(self) -> None:
        """Write whose store this is, before anything else: no other installation may take it from here on."""
        with suppress(ObjectChanged):
            await self._store.replace(NAME, f"{self._backup.description.installation}\n".encode(), None)

    async def _read_installation(self) -> bytes | None:
        try:
            return (await self._store.read(NAME)).data
        except ObjectMissing:
            return None

    def _mark(self) -> None:
        """Say that a restore has begun; what an earlier try wrote to the home is removed."""
        home, mark = self._settings.home, self._settings.home / UNFINISHED
        if mark.exists():
            for name in d.HOME:
                shutil.rmtree(home / name, ignore_errors=True)
        else:
            private.make_folder(home)
            private.write_file(mark, f"{self._backup.digest}\n".encode())


def check_home(settings: Settings, backup: Checked) -> None:
    """Raise `SetupFailed` if the home has more than a server, or than an unfinished restore of this."""
    home, mark = settings.home, settings.home / UNFINISHED
    if mark.exists():
        if mark.read_text().strip() != backup.digest:
            raise SetupFailed(
                f"a restore of another backup into {home} did not end; "
                "remove that folder, or give another --home"
            )
        return
    server = () if settings.database_url else ("postgres",)
    names = (
        sorted(each.name for each in home.iterdir() if not _is_empty_folder(each)) if home.exists() else []
    )
    if found := [name for name in names if name.partition(".")[0] not in server]:
        raise _not_empty(settings, f"the home {home} has {', '.join(found[:3])}")


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _check_digest(part: Part, digest: str) -> None:
    """Raise `Tampered` if an object does not have the digest in its name."""
    if part.name.startswith(f"{d.OBJECTS}/") and part.name.split("/")[1] != digest:
        raise Tampered(f"{part.name} of the backup has other bytes than its name says; use another backup")


async def _is_empty(store: Store) -> bool:
    for listing in (store.log_files, store.objects):
        async for page in listing():
            if page:
                return False
    return True


def _not_empty(settings: Settings, what: str) -> SetupFailed:
    server = address(settings.database_url) if settings.database_url else "the embedded one"
    return SetupFailed(
        f"{what}, and nothing is replaced. The home is {settings.home}, the database is {server}: "
        "give an empty --home, an empty --database-url or none, and with FOJA_STORAGE_URL an empty store"
    )
