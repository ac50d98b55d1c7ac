"""Write a backup: one snapshot of the database, the keys, and every file of the store that it refers to.

Objects are named by their digest and never rewritten, so those of the snapshot can be copied after it; no
object is purged meanwhile. The files of the log only grow: what was published after the snapshot is left out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from foja.domains.backup import description as d
from foja.domains.backup.archive import ArchiveWriter
from foja.domains.backup.log_files import is_covered
from foja.domains.backup.tables import Transfer, reading
from foja.engine.blobs.store import Store
from foja.engine.embedded.keys import read_private
from foja.engine.identity import NAME, check_key
from foja.engine.settings import Settings
from foja.engine.tasks import end
from foja.errors import ObjectMissing, SetupFailed, Tampered

PARALLEL, SMALL = 16, 1 << 20
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Contents:
    """What was written."""

    description: d.Description
    digest: str  # names the backup
    size: int
    objects: int
    missing: tuple[str, ...]  # objects that are not in it, because the store does not have them whole
    other_tables: tuple[str, ...]  # of the same database, but not Foja's


@dataclass(frozen=True, slots=True)
class BackupWriter:
    """Writes a backup of one installation. Without a store, only its database and keys."""

    version: str  # of Foja
    settings: Settings
    store: Store | None
    scratch: Path  # a folder for large objects on their way
    skip_missing: bool = False
    progress: Progress | None = None

    async def write(self, url: str, target: BinaryIO) -> Contents:
        """Write the archive into a file. It is complete only when this returns."""
        with ArchiveWriter(target) as archive:
            return await self._write(url, archive)

    async def _write(self, url: str, archive: ArchiveWriter) -> Contents:
        async with reading(url) as transfer:
            found = await self._describe(transfer)
            archive.add(d.DESCRIPTION, found.to_bytes())
            for name, data in home_files(self.settings.home):
                archive.add(name, data)
            [(objects, total)] = await transfer.rows("transfer_size")
            await self._add_tables(transfer, archive, found, total)
            missing: list[str] = []
            if self.store:
                await self._add_log(transfer, archive, self.store)
                missing = await self._add_objects(transfer, archive, self.store, total)
            others = await transfer.others()
        digest = archive.finish()
        count = objects - len(missing) if self.store else 0
        return Contents(found, digest, archive.size, count, tuple(missing), tuple(others))

    async def _describe(self, transfer: Transfer) -> d.Description:
        """Return the description. Raise `SetupFailed` if home and key are those of another installation."""
        [(installation_id, epoch, _)] = await transfer.rows("installation") or [(None, "", 0)]
        if installation_id is None:
            raise SetupFailed("the database does not say which installation it is; run `foja migrate`")
        kept = self.settings.home / NAME
        if kept.exists() and kept.read_text().strip() != str(installation_id):
            raise SetupFailed(
                f"the home {self.settings.home} belongs to installation {kept.read_text().strip()[:80]}, but "
                f"the database is installation {installation_id}; give home and database of one installation"
            )
        for note, *_ in await transfer.rows("newest_note"):
            check_key(self.settings, installation_id, note)
        [(now,)] = await transfer.rows("clock")
        steps = await transfer.rows("applied_migrations")
        return d.Description(
            foja=self.version,
            at=now,
            installation=installation_id,
            log_name=self.settings.log_name,
            epoch=epoch,
            store=self.store is not None,
            schema_steps=tuple(d.SchemaStep(number=n, name=name, digest=text) for n, name, text, _ in steps),
            tables=await transfer.tables(),
            sequences=await transfer.sequences(),
        )

    async def _add_tables(
        self, transfer: Transfer, archive: ArchiveWriter, found: d.Description, total: int
    ) -> None:
        for table in found.tables:
            number = 0
            async for block in transfer.copy_out(table):
                archive.add(f"{d.DATABASE}/{table.name}/{number:08}.copy", block)
                number += 1
                self._report(archive, total)

    async def _add_log(self, transfer: Transfer, archive: ArchiveWriter, store: Store) -> None:
        """Add the files of each log up to its published checkpoint; that one as the database has it."""
        notes = {origin: (size, note) for origin, size, note in await transfer.rows("published_notes")}
        sizes = {origin: size for origin, (size, _) in notes.items()}
        names = [each.key async for page in store.log_files() for each in page]
        wanted = {name for name in names if is_covered(name, sizes)}
        checkpoints = {f"{d.LOG}/{origin}/checkpoint": note for origin, (_, note) in notes.items()}
        for name in sorted(wanted | checkpoints.keys()):
            note = checkpoints.get(name)
            archive.add(name, note.encode() if note else (await store.read(name)).data)

    async def _add_objects(
        self, transfer: Transfer, archive: ArchiveWriter, store: Store, total: int
    ) -> list[str]:
        """Add all objects, and return those that the store does not have whole."""
        keys = [key for (key,) in await transfer.rows("stored_objects")]
        missing: list[str] = []
        async for key, file, size in self._fetch_all(store, keys):
            if file is None:
                missing.append(key)
                continue
            with file:
                archive.copy(key, size, file)
            self._report(archive, total)
        if missing:
            archive.add(d.MISSING, "".join(f"{key}\n" for key in missing).encode())
        return missing

    async def _fetch_all(
        self, store: Store, keys: list[str]
    ) -> AsyncIterator[tuple[str, BinaryIO | None, int]]:
        """Yield objects in this order, each as an open file; a few are fetched ahead."""
        waiting, ahead = deque[asyncio.Task[tuple[str, BinaryIO | None, int]]](), iter(keys)
        try:
            while True:
                while len(waiting) < PARALLEL and (key := next(ahead, None)):
                    waiting.append(asyncio.create_task(self._fetch(store, key)))
                if not waiting:
                    return
                yield await waiting.popleft()
        finally:
            await end(waiting)

    async def _fetch(self, store: Store, key: str) -> tuple[str, BinaryIO | None, int]:
        _, sha256, generation = key.split("/")
        file = cast(BinaryIO, SpooledTemporaryFile(SMALL, dir=str(self.scratch)))  # noqa: SIM115
        try:
            await store.fetch(sha256, file, int(generation))
        except (ObjectMissing, Tampered) as error:
            file.close()
            if self.skip_missing:
                return key, None, 0
            raise type(error)(
                f"{error} So the backup was not written; restore the object first, "
                "or give --skip-missing for a backup that leaves it out and says so"
            ) from error
        except BaseException:
            file.close()
            raise
        size = file.tell()
        file.seek(0)
        return key, file, size

    def _report(self, archive: ArchiveWriter, total: int) -> None:
        if self.progress:
            self.progress(archive.size, max(total, archive.size))


def home_files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the keys and of the timestamp authority, by name."""
    found = [path for folder in d.HOME for path in (home / folder).rglob("*")]
    names = {path.relative_to(home).as_posix(): path for path in found if not path.is_dir()}
    for name in sorted(names):
        if "/." not in name:  # a temporary file or a lock
            yield name, read_private(names[name])
