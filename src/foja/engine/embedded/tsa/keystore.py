"""The key files of the local authority, created on first use and readable by their owner only."""

from __future__ import annotations

import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

from foja.engine.embedded.keys import read_private
from foja.engine.embedded.locks import exclusive
from foja.engine.embedded.tsa.issuer import SigningIdentity, is_due, new_root, new_signer, read_identity
from foja.engine.private import make_folder, sync, write_file
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
        make_folder(self._home)
        with exclusive(self._home / f"{FOLDER}.lock"):
            for draft in self._home.glob(f"{_DRAFT}*"):
                shutil.rmtree(draft)
            if self._folder.exists():
                return
            draft = self._home / f"{_DRAFT}{secrets.token_hex(4)}"
            draft.mkdir(mode=0o700)
            root = new_root(datetime.now(UTC))
            write_file(draft / ROOT, root.encode())
            write_file(draft / SIGNER, new_signer(root, datetime.now(UTC)).encode())
            write_file(draft / PUBLIC, root.pem)
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
            write_file(draft, signer.encode())
            draft.replace(self._folder / SIGNER)
            sync(self._folder)
            return signer

    def _read(self, name: str) -> SigningIdentity:
        path = self._folder / name
        try:
            return read_identity(read_private(path))
        except FileNotFoundError:
            raise SetupFailed(f"{path} is missing; restore it, or move {self._folder} away") from None
