"""`foja restore`: a backup becomes an installation in a new home and an empty database."""

from __future__ import annotations

import asyncio
import json
import shutil
from argparse import Namespace
from pathlib import Path

from foja import sql
from foja.cli.installation import create_app, read_settings
from foja.cli.output import print_result
from foja.cli.server.backup import DUMP, MANIFEST, SECRETS, STORE, local_store
from foja.cli.server.programs import run_program
from foja.cli.server.temporary_database import temporary_database
from foja.domains import prepare
from foja.driver.database import our_errors
from foja.embedded.servers import database
from foja.errors import SetupFailed
from foja.settings import Settings


async def restore(arguments: Namespace) -> int:
    """Restore the files, then the database, and open the result once."""
    source: Path = arguments.folder
    settings = read_settings(arguments)
    _check_source(source)
    _check_target(settings)
    async with database(settings) as url:
        await _check_empty(url)
        async with temporary_database(url) as scratch:  # makes the roles, which no dump contains
            await prepare(scratch)
        await asyncio.to_thread(_restore_files, settings, source)
        options = ("--no-owner", "--exit-on-error", "--single-transaction", str(source / DUMP))
        await asyncio.to_thread(run_program, "pg_restore", url, *options)
        async with create_app(settings) as app:
            origin = (await app.sequencer.current()).name
    print_result(
        arguments,
        {"home": str(settings.home), "log": origin},
        f"restored {source} to {settings.home}; the log is {origin}",
        "run `foja fsck`, then `foja up`; if the backup is older than what was published, see `foja log`",
    )
    return 0


def _check_source(source: Path) -> None:
    try:
        form = json.loads((source / MANIFEST).read_text(encoding="utf-8"))["form"]
    except (OSError, ValueError, KeyError, TypeError):
        form = None
    if form != "foja/backup/v1" or not (source / DUMP).exists():
        raise SetupFailed(f"{source} is not a complete backup: expected a folder that `foja backup` wrote")


def _check_target(settings: Settings) -> None:
    """Raise `SetupFailed` if the home has files that the backup would replace."""
    taken = [settings.home / name for name in SECRETS]
    store = local_store(settings)
    for folder in (*taken, *([store] if store else [])):
        if folder.exists() and any(folder.iterdir()):
            raise SetupFailed(f"{folder} is not empty, and nothing is replaced; choose another --home")


async def _check_empty(url: str) -> None:
    from psycopg import AsyncConnection

    with our_errors():
        async with await AsyncConnection.connect(url, autocommit=True) as connection:
            row = await (await connection.execute(sql.query("has_schema"))).fetchone()
    if row and row[0]:
        raise SetupFailed(
            "the database has a schema foja already, and nothing is replaced; "
            "choose another --home, or an empty database with --database-url"
        )


def _restore_files(settings: Settings, source: Path) -> None:
    store = local_store(settings)
    if store and (source / STORE).exists():
        shutil.copytree(source / STORE, store, dirs_exist_ok=True)
    for name in SECRETS:
        if (source / name).exists():
            shutil.copytree(source / name, settings.home / name, dirs_exist_ok=True)
