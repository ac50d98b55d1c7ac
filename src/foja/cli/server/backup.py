"""`foja backup`: the store, the keys and the database in one folder.

The store is copied first, so that the database of a backup is never behind its store.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from foja import __version__
from foja.cli.installation import open_database, read_settings
from foja.cli.output import print_result
from foja.cli.server.programs import run_program
from foja.errors import SetupFailed, redact
from foja.private import sync
from foja.settings import Settings

DUMP, STORE, MANIFEST = "database.dump", "store", "backup.json"
SECRETS = ("keys", "tsa")  # folders of the home


async def backup(arguments: Namespace) -> int:
    """Write a backup into a new folder and print what it contains."""
    target: Path = arguments.folder
    settings = read_settings(arguments)
    async with open_database(arguments) as url:
        await asyncio.to_thread(_copy_files, settings, target)
        await asyncio.to_thread(run_program, "pg_dump", url, "--format=custom", f"--file={target / DUMP}")
    (target / DUMP).chmod(0o600)
    manifest = _describe(settings)
    (target / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    sync(target)
    lines = [f"wrote {target}: it contains the keys, so keep it as safe as the installation"]
    if not manifest["store_included"]:
        lines.append(f"the objects in {manifest['store']} are not in it; copy them before each backup")
    print_result(arguments, {**manifest, "folder": str(target)}, *lines)
    return 0


def local_store(settings: Settings) -> Path | None:
    """Return the folder of the store, or None if the store is a bucket."""
    parts = urlsplit(settings.store_url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _copy_files(settings: Settings, target: Path) -> None:
    """Make the folder and copy the store, then the keys. What is being written to the store is left out."""
    try:
        target.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise SetupFailed(f"{target} exists, and nothing is replaced; name a new folder") from None
    store = local_store(settings)
    if store and store.exists():
        shutil.copytree(store, target / STORE, ignore=shutil.ignore_patterns(".partial", ".lock"))
    for name in SECRETS:
        if (settings.home / name).exists():
            shutil.copytree(settings.home / name, target / name)
            (target / name).chmod(0o700)


def _describe(settings: Settings) -> dict[str, object]:
    return {
        "form": "foja/backup/v1",
        "foja": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "store": redact(settings.store_url),
        "store_included": local_store(settings) is not None,
    }
