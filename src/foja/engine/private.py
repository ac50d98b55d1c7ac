"""Files and folders that only their owner can use (0600, 0700), and that survive a power cut."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from foja.errors import SetupFailed

_OTHERS, _TRAVERSE = 0o077, 0o010
_OWN_FOLDERS = {"cosigner", "keys", "monitor", "postgres", "store", "tsa", "uploads"}
_OWN_FILES = ("installation", "postgres.", "redis.", "restore.", "tsa.", ".tsa.", ".installation.")
UNFINISHED = "restore.unfinished"  # in the home while a backup is being restored
REPEAT = "Run the same `foja restore` again, or remove that folder"
log = logging.getLogger("foja.private")


def check_finished(home: Path) -> None:
    """Raise `SetupFailed` if a restore into this home did not end."""
    if (home / UNFINISHED).exists():
        raise SetupFailed(f"{unfinished(home)}. {REPEAT}")


def unfinished(home: Path) -> str:
    """Return what is said of a home into which a restore did not end."""
    return f"a restore into {home} did not end, so the installation there is not complete"


def make_folder(folder: Path, below: Path | None = None) -> None:
    """Create a folder and the missing ones above it, and sync them; with `below`, only below that one."""
    if folder.is_dir():
        return
    for each in reversed([folder, *folder.parents]):
        if not each.exists() and not (below and below.is_relative_to(each)):
            each.mkdir(mode=0o700, exist_ok=True)
            sync(each.parent)


def open_file(path: Path) -> int:
    """Return a descriptor of a file. Create it if absent."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def create_file(path: Path) -> BinaryIO:
    """Return a new file that is open for writing. Raise `FileExistsError` if it exists."""
    return os.fdopen(_create(path), "wb")


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def write_file(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Write a new file and sync it; without `synced`, the caller does."""
    descriptor = _create(path)
    try:
        written = os.write(descriptor, data)
        while written < len(data):  # more than 2 GB, or the disk is full: then the next call says so
            written += os.write(descriptor, memoryview(data)[written:])
        if synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_whole(path: Path, data: bytes) -> None:
    """Write a new file atomically, or raise `FileExistsError`: other processes may be starting, too."""
    if path.exists():
        raise FileExistsError(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        write_file(draft, data)
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def close_home(home: Path) -> None:
    """Close what older versions left open to other users. A folder that is shared with others stays open.

    Keys that others could read are not closed here: reading them is refused, because they may have leaked.
    """
    if not home.is_dir():
        return
    entries = list(home.iterdir())
    own = [each for each in entries if each.name in _OWN_FOLDERS or each.name.startswith(_OWN_FILES)]
    _close(home, (each for each in own if each.name not in ("postgres", "store")))
    if len(own) == len(entries):
        _close(home, [home])


def close_store(root: Path) -> None:
    """Close a store that is open to other users, its folder last: a walk that was interrupted is repeated."""
    if root.stat().st_mode & _OTHERS:
        below = (Path(where, name) for where, folders, files in os.walk(root) for name in (*folders, *files))
        _close(root, below)
        _close(root, [root])


def _close(where: Path, paths: Iterable[Path]) -> None:
    """Take the rights of other users away, and log how many paths were open."""
    closed = sum(map(_close_one, paths))
    if closed:
        log.warning("%s: %s files or folders were open to other users and are closed now", where, closed)


def _close_one(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        open_to = open_bits(path)
        if stat.S_ISLNK(mode) or not open_to:
            return False
        path.chmod(stat.S_IMODE(mode) & ~open_to)
    except FileNotFoundError:  # a temporary file of another process
        return False
    except OSError as error:
        raise SetupFailed(
            f"other users can read {path}, and it cannot be closed to them ({error.strerror}); "
            f"run `chmod -R go= {path}` as its owner"
        ) from error
    return True


def open_bits(path: Path) -> int:
    """Return the rights that other users have to this path; the way through for a listed user is none."""
    return path.lstat().st_mode & (_OTHERS & ~_TRAVERSE if _has_list(path) else _OTHERS)


def _has_list(path: Path) -> bool:
    """Return whether an access-control list lets single users in, as the one that runs PostgreSQL for root.

    The rights of the group are then the most that such a user has.
    """
    try:
        return bool(os.getxattr(path, "system.posix_acl_access", follow_symlinks=False))
    except (AttributeError, OSError):
        return False


def sync(folder: Path) -> None:
    """Make files that were created or renamed in the folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
