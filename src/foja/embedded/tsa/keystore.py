"""The key files of the local authority, created on first use and readable by their owner only."""

from __future__ import annotations

import os
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

from foja.durable import sync
from foja.embedded.locks import exclusive
from foja.embedded.tsa.issuer import SigningIdentity, is_due, new_root, new_signer, read_identity
from foja.errors import SetupFailed

FOLDER, ROOT, SIGNER, PUBLIC = "tsa", "root.key", "signer.key", "root.pem"
_DRAFT = ".tsa."


class KeyStore:
    """The keys of one installation. Processes that start at the same time get the same keys."""

    def __init__(self, home: Path) -> None:
        self._home, self._folder = home, home / FOLDER

    def root(self) -> SigningIdentity:
        """Return the root. Create the keys if absent."""
        if not self._folder.exists():
            self._create()
        return self._read(ROOT)

    def signer(self, now: datetime) -> SigningIdentity:
        """Return the signer, replaced if it expires soon. Old tokens carry the old certificate."""
        root = self.root()
        signer = self._read(SIGNER)
        return self._renew(root, now) if is_due(signer, now) else signer

    def _create(self) -> None:
        """Write all files to a draft folder and rename it: after a kill only a draft is left."""
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with exclusive(self._home / f"{FOLDER}.lock"):
            for draft in self._home.glob(f"{_DRAFT}*"):
                shutil.rmtree(draft)
            if self._folder.exists():
                return
            draft = self._home / f"{_DRAFT}{secrets.token_hex(4)}"
            draft.mkdir(mode=0o700)
            root = new_root(datetime.now(UTC))
            _write(draft / ROOT, root.encode())
            _write(draft / SIGNER, new_signer(root, datetime.now(UTC)).encode())
            _write(draft / PUBLIC, root.pem)
            sync(draft)
            draft.rename(self._folder)
            sync(self._home)

    def _renew(self, root: SigningIdentity, now: datetime) -> SigningIdentity:
        with exclusive(self._home / f"{FOLDER}.lock"):
            signer = self._read(SIGNER)
            if not is_due(signer, now):
                return signer  # another process replaced it
            signer = new_signer(root, now)
            if is_due(signer, now):
                raise SetupFailed(f"the root in {self._folder} expires too soon; move the folder away")
            draft = self._folder / f"{_DRAFT}{secrets.token_hex(4)}"
            _write(draft, signer.encode())
            draft.replace(self._folder / SIGNER)
            sync(self._folder)
            return signer

    def _read(self, name: str) -> SigningIdentity:
        path = self._folder / name
        try:
            if path.stat().st_mode & 0o077:
                raise SetupFailed(
                    f"other users can read {path}; run `chmod 600 {path}` and treat the key as leaked"
                )
            return read_identity(path.read_bytes())
        except FileNotFoundError:
            raise SetupFailed(f"{path} is missing; restore it, or move {self._folder} away") from None


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
