"""Who runs PostgreSQL: an ordinary user itself, root through an account without rights.

PostgreSQL refuses to run as root. Root's folders are usually closed to others, so the account gets one
access-control entry to pass through each of them: not to list, not to read. Deliberately absent: chmod.
The wheel's own `ensure_prefix_permissions` would open /root to every user of the machine.
"""

from __future__ import annotations

import os
import pwd
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from foja.errors import EmbeddedFailed

NAME = "pgserver"

# linux/posix_acl_xattr.h: a version, then (tag, rights, id) in ascending order.
_ATTRIBUTE = "system.posix_acl_access"
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_NOBODY = 0xFFFFFFFF
_PASS = 1

Rights = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Account:
    """An account without rights that root acts as."""

    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make the account the owner of this file or folder."""
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reach(self, folder: Path) -> None:
        """Let the account pass through every folder on the way to this one, and into it."""
        for step in (*reversed(folder.parents), folder):
            _let_pass(step, self)


def choose(data: Path) -> Account | None:
    """Return the account PostgreSQL must run as, or None for our own."""
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid)
    entry = _ensure_entry()
    return Account(entry.pw_uid, entry.pw_gid)


def _ensure_entry() -> pwd.struct_passwd:
    """Return the account's entry, made if absent; two processes may ask at once."""
    reason = ""
    for _ in range(20):
        try:
            return pwd.getpwnam(NAME)
        except KeyError:
            reason = _add()
            time.sleep(0.1 if reason else 0)
    raise EmbeddedFailed(
        f"PostgreSQL may not run as root and the account {NAME!r} could not be made: {reason} "
        f"Run `useradd {NAME}`, run Foja as an ordinary user, or set FOJA_DATABASE_URL."
    )


def _add() -> str:
    """Make the account; return what was said against it, if anything."""
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
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr.strip()
    except OSError as error:
        return str(error)


def _let_pass(folder: Path, account: Account) -> None:
    """Let the account pass through one folder; nobody else's rights change."""
    rights = _rights(folder)
    if _passes(folder, rights, account):
        return
    rights[_USER, account.uid] = rights.get((_USER, account.uid), 0) | _PASS
    rights[_MASK, _NOBODY] = rights.get((_MASK, _NOBODY), rights[_GROUP, _NOBODY]) | _PASS
    try:
        os.setxattr(folder, _ATTRIBUTE, _pack(rights))
    except (AttributeError, OSError) as error:
        raise EmbeddedFailed(
            f"the account {account.uid} that runs PostgreSQL cannot pass through {folder} ({error}). "
            f"Run `chmod o+x {folder}`, choose another FOJA_HOME, or run Foja as an ordinary user."
        ) from error


def _passes(folder: Path, rights: Rights, account: Account) -> bool:
    owner = folder.stat().st_uid == account.uid and rights[_OWNER, _NOBODY] & _PASS
    return bool(owner or rights[_OTHERS, _NOBODY] & _PASS or rights.get((_USER, account.uid), 0) & _PASS)


def _rights(folder: Path) -> Rights:
    """Return the rights that count: what the mask hides is left out."""
    try:
        raw = os.getxattr(folder, _ATTRIBUTE)
    except (AttributeError, OSError):
        mode = folder.stat().st_mode
        classes = {_OWNER: mode >> 6, _GROUP: mode >> 3, _OTHERS: mode}
        return {(tag, _NOBODY): bits & 7 for tag, bits in classes.items()}
    stored = {(tag, who): right for tag, right, who in struct.iter_unpack("<HHI", raw[4:])}
    mask = stored.get((_MASK, _NOBODY), 7)
    return {at: right if at[0] in (_OWNER, _OTHERS) else right & mask for at, right in stored.items()}


def _pack(rights: Rights) -> bytes:
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, right, who) for (tag, who), right in sorted(rights.items())
    )
