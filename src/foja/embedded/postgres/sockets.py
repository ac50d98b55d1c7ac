"""The folder of the server's socket: short, private, and in the temporary folder.

A socket's path ends near 100 bytes, so it cannot lie in the home. Whoever may enter the folder may act as
the administrator, so nobody else may enter it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import tempfile
from pathlib import Path

from foja.embedded.postgres.account import Account
from foja.errors import EmbeddedFailed

_LONGEST = 100


def prepare(data: Path, account: Account | None) -> Path:
    """Return the empty folder for the socket of a server that does not run."""
    folder = _place(data)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if account:
            account.own(folder)
    _check_private(folder, account.uid if account else os.geteuid())
    _empty(folder)
    if account:
        account.reach(folder)
    return folder


def remove(data: Path, account: Account | None) -> None:
    """Remove the folder of a server that has ended, however it ended."""
    with contextlib.suppress(OSError, EmbeddedFailed):
        folder = _place(data)
        _check_private(folder, account.uid if account else os.geteuid())
        _empty(folder)
        folder.rmdir()


def answers(folder: Path, port: int) -> bool:
    """Tell whether a server listens there now."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(folder / f".s.PGSQL.{port}")) == 0


def _place(data: Path) -> Path:
    """Return a place that belongs to this folder, not to a later one of the same name."""
    name = hashlib.sha256(f"{data}:{data.stat().st_ino}".encode()).hexdigest()[:12]
    preferred = Path(tempfile.gettempdir(), f"foja-{name}")
    return preferred if len(str(preferred / ".s.PGSQL.65535")) <= _LONGEST else Path("/tmp", preferred.name)  # noqa: S108


def _check_private(folder: Path, owner: int) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != owner or state.st_mode & 0o022:
        raise EmbeddedFailed(
            f"{folder} should be a private folder of user {owner} and is not: somebody else made it. "
            "Remove it, or set TMPDIR to a folder of your own."
        )


def _empty(folder: Path) -> None:
    for left_behind in folder.iterdir():
        left_behind.unlink()
