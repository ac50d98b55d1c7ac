"""Private keys, created on first use and readable by their owner only."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from foja.engine import private
from foja.errors import SetupFailed

SEED_BYTES = 32
MAX_KEY_BYTES = 1 << 16


def signing_seed(path: Path) -> bytes:
    """Return the Ed25519 seed stored at `path`. Create it if absent."""
    private.make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        private.create_whole(path, secrets.token_bytes(SEED_BYTES))
    seed = read_private(path)
    if len(seed) != SEED_BYTES:
        raise SetupFailed(f"{path} is not a signing key ({len(seed)} bytes); restore it from a backup")
    return seed


def read_private(path: Path) -> bytes:
    """Return the content of a key file.

    Raise `SetupFailed` if other users can read it, if it is too large, or if it is not a regular file:
    reading a pipe or a device may never end.
    """
    _check_regular(path, path.stat())  # opening a device may already have an effect
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        _check_regular(path, state)
        if state.st_mode & 0o077:
            raise SetupFailed(
                f"other users can read {path}; run `chmod 600 {path}` and treat the key as leaked"
            )
        data = file.read(MAX_KEY_BYTES + 1)
    if len(data) > MAX_KEY_BYTES:
        raise SetupFailed(f"{path} is not a key: it has more than {MAX_KEY_BYTES:,} bytes; name the key file")
    return data


def _check_regular(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise SetupFailed(f"{path} is not a regular file, so it is not read as a key; name the key file")
