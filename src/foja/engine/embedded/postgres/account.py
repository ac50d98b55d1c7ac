"""The account that runs PostgreSQL: the current user, or an unprivileged one if that is root.

PostgreSQL refuses to run as root. Root's folders are usually closed to others, so the account gets an
access-control entry on each of them: to traverse, not to list or read. Deliberately absent: chmod. The
wheel's own `ensure_prefix_permissions` would open /root to every user of the machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foja.errors import EmbeddedFailed

NAME = "pgserver"
LOCK = "/run/foja-account.lock"
ADD_SECONDS = 60.0
WAYS_ON = f"Run `useradd {NAME}`, run Foja as an ordinary user, or set FOJA_DATABASE_URL."

# linux/posix_acl_xattr.h: a version, then (tag, rights, id) in ascending order.
_ATTRIBUTE = "system.posix_acl_access"
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_NO_ID = 0xFFFFFFFF
_TRAVERSE = 1

Rights = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged account that root acts as."""

    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make the account the owner of this file or folder."""
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reach(self, folder: Path) -> None:
        """Let the account traverse this folder and all its parents."""
        for each in (*reversed(folder.parents), folder):
            _allow_traverse(each, self)


def choose(data: Path) -> Account | None:
    """Return the account that PostgreSQL must run as, or None for the current user."""
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid)
    entry = _ensure_entry()
    return Account(entry.pw_uid, entry.pw_gid)


def _ensure_entry() -> pwd.struct_passwd:
    """Return the account's entry. Create it if absent, one process at a time.

    Two `useradd` at once both succeed, and the later one gives the account another number.
    """
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(NAME)
    reason, deadline = "", time.monotonic() + ADD_SECONDS
    with _only_process():
        while time.monotonic() < deadline:  # another program, such as a package manager, may add accounts
            try:
                return pwd.getpwnam(NAME)
            except KeyError:
                reason = _add()
                time.sleep(0.2 if reason else 0)
    raise EmbeddedFailed(
        f"PostgreSQL cannot run as root, and the account {NAME!r} could not be created: {reason} {WAYS_ON}"
    )


@contextlib.contextmanager
def _only_process() -> Iterator[None]:
    """Hold a lock that only root can take."""
    try:
        file = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedFailed(f"the account {NAME!r} could not be created ({error}). {WAYS_ON}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _add() -> str:
    """Create the account. Return the error message, or an empty string."""
    command = (
        "useradd",
        "--system",
        "--user-group",
        "--no-create-home",
        "--shell",
        "/usr/sbin/nologin",
        NAME,
    )
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ADD_SECONDS)
        return done.stderr.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def _allow_traverse(folder: Path, account: Account) -> None:
    """Let the account traverse one folder. The rights of others do not change."""
    rights = _rights(folder)
    if _can_traverse(folder, rights, account):
        return
    rights[_USER, account.uid] = rights.get((_USER, account.uid), 0) | _TRAVERSE
    rights[_MASK, _NO_ID] = rights.get((_MASK, _NO_ID), rights[_GROUP, _NO_ID]) | _TRAVERSE
    try:
        os.setxattr(folder, _ATTRIBUTE, _pack(rights))
    except (AttributeError, OSError) as error:
        raise EmbeddedFailed(
            f"the account {account.uid} that runs PostgreSQL cannot traverse {folder} ({error}). "
            f"Run `chmod o+x {folder}`, choose another FOJA_HOME, or run Foja as an ordinary user."
        ) from error


def _can_traverse(folder: Path, rights: Rights, account: Account) -> bool:
    owner = folder.stat().st_uid == account.uid and rights[_OWNER, _NO_ID] & _TRAVERSE
    return bool(
        owner or rights[_OTHERS, _NO_ID] & _TRAVERSE or rights.get((_USER, account.uid), 0) & _TRAVERSE
    )


def _rights(folder: Path) -> Rights:
    """Return the effective rights, with the mask applied."""
    try:
        raw = os.getxattr(folder, _ATTRIBUTE)
    except (AttributeError, OSError):
        mode = folder.stat().st_mode
        classes = {_OWNER: mode >> 6, _GROUP: mode >> 3, _OTHERS: mode}
        return {(tag, _NO_ID): bits & 7 for tag, bits in classes.items()}
    stored = {(tag, uid): right for tag, right, uid in struct.iter_unpack("<HHI", raw[4:])}
    mask = stored.get((_MASK, _NO_ID), 7)
    return {key: right if key[0] in (_OWNER, _OTHERS) else right & mask for key, right in stored.items()}


def _pack(rights: Rights) -> bytes:
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, right, uid) for (tag, uid), right in sorted(rights.items())
    )
