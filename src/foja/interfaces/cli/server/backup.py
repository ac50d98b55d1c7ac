"""`foja backup`: database, objects, log and keys of an installation in one file."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from foja import __version__
from foja.domains.backup.writer import BackupWriter, Contents
from foja.engine.embedded.servers import database
from foja.engine.identity import open_own_store
from foja.engine.private import sync
from foja.engine.settings import Settings
from foja.interfaces.cli.installation import read_existing
from foja.interfaces.cli.output import print_error, print_json, print_line, progress_bar
from foja.interfaces.cli.output_files import check_targets, new_file

STDOUT = Path("-")


async def backup(arguments: Namespace) -> int:
    """Write a backup and print what it contains; return 1 if objects are missing in it."""
    settings = read_existing(arguments)
    target = _target(arguments.output)
    if target != STDOUT:
        check_targets(arguments, target)
    async with database(settings) as url:
        with progress_bar("backup") as progress, _open(arguments, target) as file:
            store = None if arguments.without_objects else open_own_store(settings)
            writer = BackupWriter(
                __version__, settings, store, _scratch(target), arguments.skip_missing, progress
            )
            written = await writer.write(url, file)
            file.flush()
            if target != STDOUT:
                os.fsync(file.fileno())
    if target != STDOUT:
        sync(target.parent)
    _print(arguments, settings, target, written)
    return 1 if written.missing else 0


def _target(output: Path) -> Path:
    """Return the file to write; in a folder it is named by the time."""
    if output == STDOUT or not output.is_dir():
        return output
    return output.absolute() / f"foja-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup.tar"


def _scratch(target: Path) -> Path:
    """Return the folder for temporary files: that of the target, which needs the room anyway."""
    return Path.cwd() if target == STDOUT else target.parent


@contextmanager
def _open(arguments: Namespace, target: Path) -> Iterator[BinaryIO]:
    """Yield the file that becomes the backup when all is written. Only its owner can read it: it has keys."""
    if target == STDOUT:
        yield sys.stdout.buffer
        return
    with new_file(arguments, target) as file:
        os.fchmod(file.fileno(), 0o600)
        yield file


def _print(arguments: Namespace, settings: Settings, target: Path, written: Contents) -> None:
    result = {
        "file": str(target),
        "size": written.size,
        "digest": written.digest,
        "at": written.description.at,
        "installation": written.description.installation,
        "store": written.description.store,
        "objects": written.objects,
        "missing": written.missing,
        "other_tables": written.other_tables,
    }
    say = print_error if target == STDOUT or arguments.json else print_line
    if arguments.json and target != STDOUT:
        print_json(result)
    else:
        say(f"wrote {target}: {written.size:,} bytes, {written.objects:,} objects, digest {written.digest}")
        say("it contains the keys: keep it as safe as the installation")
    if not written.description.store:
        say(f"the store {settings.store_url} is not in it; copy it yourself, after this backup")
    if written.missing:
        print_error(f"{len(written.missing):,} objects are missing in it; the first is {written.missing[0]}")
    if written.other_tables:
        names = ", ".join(written.other_tables[:5])
        say(f"tables that are not Foja's are not in it: {names}; back them up with pg_dump")
