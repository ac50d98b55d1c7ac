"""The folder of the server's socket: a short, private path in the temporary folder.

A socket path may have about 100 bytes, so the home may be too long for it. Access to the folder gives the
rights of the administrator, so the folder is closed to other users.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import tempfile
from pathlib import Path

from foja.engine.embedded.postgres.account import Account
from foja.errors import EmbeddedFailed

_LONGEST = 100


def prepare(folder: Path, account: Account | None) -> None:
    """Make an empty folder for the socket of a server that does not run."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if account:
            account.own(folder)
    _check_private(folder, account.uid if account else os.geteuid())
    _empty(folder)
    if account:
        account.reach(folder)


def remove(data: Path, account: Account | None) -> None:
    """Remove the folder of a server that no longer runs."""
    with contextlib.suppress(OSError, EmbeddedFailed):
        found = folder(data)
        _check_private(found, account.uid if account else os.geteuid())
        _empty(found)
        found.rmdir()


def answers(folder: Path, port: int) -> bool:
    """Return whether a server listens in this folder now."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(folder / f".s.PGSQL.{port}")) == 0


def folder(data: Path) -> Path:
    """Return the path for this data folder; a later one of the same name gets another path."""
    name = hashlib.sha256(f"{data}:{data.stat().st_ino}".encode()).hexdigest()[:12]
    preferred = Path(tempfile.gettempdir(), f"foja-{name}")
    return preferred if len(str(preferred / ".s.PGSQL.65535")) <= _LONGEST else Path("/tmp", preferred.name)  # noqa: S108


def _check_private(folder: Path, owner: int) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != owner or state.st_mode & 0o022:
        raise EmbeddedFailed(
            f"{folder} is not a private folder of user {owner}: another user may have created it. "
            "Remove it, or set TMPDIR to a folder of your own."
        )


def _empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
