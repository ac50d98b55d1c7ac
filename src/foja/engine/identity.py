"""Whether home, key, store and database belong to one installation; if not, the start is refused.

The database holds the id of the installation. The home and the store have a copy of it, written at the first
start. The key of the log is the one that signed the newest published checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from foja.engine import sql
from foja.engine.blobs.entries import MARKER
from foja.engine.blobs.store import Store, open_store
from foja.engine.driver.address import address
from foja.engine.driver.database import Database
from foja.engine.embedded.keys import signing_seed
from foja.engine.ledger.log import NewestNote
from foja.engine.private import create_whole, make_folder
from foja.engine.settings import Settings
from foja.errors import ObjectChanged, ObjectMissing, SetupFailed, Tampered, Unavailable
from foja.pure.core.note import Signer, split_note

LOG_KEY = Path("keys", "log.key")  # in the home
NAME = MARKER  # of the copy in the home and in the store
STORE_SECONDS = 10.0
log = logging.getLogger("foja.identity")


def check_home(settings: Settings, installation_id: UUID) -> None:
    """Raise `SetupFailed` if the home belongs to another installation than the database."""
    path = settings.home / NAME
    make_folder(settings.home)
    with suppress(FileExistsError):
        create_whole(path, f"{installation_id}\n".encode())
    _compare(f"the home {settings.home}", path.read_bytes(), settings, installation_id)


async def check_store(store: Store, settings: Settings, installation_id: UUID) -> None:
    """Raise `SetupFailed` if the store belongs to another installation. A store may be out of reach."""
    try:
        async with asyncio.timeout(STORE_SECONDS):
            found = await _read_or_create(store, f"{installation_id}\n".encode())
    except (TimeoutError, Unavailable) as error:
        log.warning("it is not known whether the store belongs to this database: %s", error or "no answer")
        return
    _compare(f"the store {settings.store_url}", found, settings, installation_id)


def open_own_store(settings: Settings) -> Store:
    """Return the store of an installation; only before its first start it is created."""
    with suppress(FileNotFoundError):
        return open_store(settings.store_url, identity=(settings.home / NAME).read_text().strip())
    return open_store(settings.store_url)


async def read_signer(settings: Settings, installation_id: UUID, database: Database) -> Signer:
    """Return the signer of the log, or raise `SetupFailed` if the log has another key."""
    if newest := await database.row(sql.query("newest_note"), NewestNote):
        check_key(settings, installation_id, newest.note)
    return make_signer(settings, installation_id)


def check_key(settings: Settings, installation_id: UUID, note: str) -> None:
    """Raise `SetupFailed` if the key in the home is not the one that signed this checkpoint."""
    path = settings.home / LOG_KEY
    if not path.exists():
        raise _other_key(note, f"there is no key in {path}")
    signer = make_signer(settings, installation_id)
    if not _is_signed(note, signer):
        raise _other_key(note, f"the key in {path} is {_short(signer.name, signer.verifier().key_id)}")


def make_signer(settings: Settings, installation_id: UUID) -> Signer:
    """Return the signer of the log; its key is made on first use."""
    name = settings.log_name or f"foja.local/{installation_id.hex[:12]}"
    return Signer(name, signing_seed(settings.home / LOG_KEY))


async def _read_or_create(store: Store, own: bytes) -> bytes:
    try:
        return (await store.read(NAME)).data
    except ObjectMissing:
        with suppress(ObjectChanged):  # another process was first
            await store.replace(NAME, own, None)
        return (await store.read(NAME)).data


def _compare(what: str, kept: bytes, settings: Settings, installation_id: UUID) -> None:
    found = kept.decode(errors="replace").strip()
    if found != str(installation_id):
        raise SetupFailed(
            f"{what} belongs to installation {found[:80]}, but the database "
            f"{address(settings.database_url)} is installation {installation_id}. "
            "Use home, store and database of one installation; docs/backup.md says how to move one"
        )


def _is_signed(note: str, signer: Signer) -> bool:
    own = signer.verifier()
    return (own.name, own.key_id) in _keys(note)


def _keys(note: str) -> list[tuple[str, bytes]]:
    with suppress(Tampered):  # `foja fsck` reports a note that is damaged
        return [(each.name, each.key_id) for each in split_note(note)[1]]
    return []


def _other_key(note: str, ours: str) -> SetupFailed:
    names = ", ".join(_short(*key) for key in _keys(note)) or "an unknown key"
    return SetupFailed(
        f"the log is signed by {names}, but {ours}. Restore that key, and FOJA_LOG_NAME if it was set; "
        "if the key is lost, `foja log restart --yes` opens a log with a new one"
    )


def _short(name: str, key_id: bytes) -> str:
    return f"{name}+{key_id.hex()}"
