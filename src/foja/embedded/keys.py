"""Private keys, created on first use and readable by their owner only."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from foja.errors import SetupFailed

SEED_BYTES = 32


def signing_seed(path: Path) -> bytes:
    """Return the Ed25519 seed stored at `path`. Create it if absent."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileExistsError):
        _create(path, secrets.token_bytes(SEED_BYTES))
    seed = path.read_bytes()
    if len(seed) != SEED_BYTES:
        raise SetupFailed(f"{path} is not a signing key ({len(seed)} bytes); restore it from a backup")
    if path.stat().st_mode & 0o077:
        raise SetupFailed(f"other users can read {path}; run `chmod 600 {path}` and treat the key as leaked")
    return seed


def _create(path: Path, seed: bytes) -> None:
    """Write a new key atomically: other processes may be starting too."""
    if path.exists():
        raise FileExistsError(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(seed)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        draft.unlink()
