"""Uploads that are not complete yet: their parts as files below home, until they are used or expire.

The name of an upload cannot be guessed, and it belongs to one tenant and principal; to others it does not
exist. The size of its file is how far it is, so that nothing is lost when a client or the server dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from foja.engine import private
from foja.errors import UnknownEntity

TOKEN = re.compile("[A-Za-z0-9_-]{43}")
DATA, INFO = "data", "upload.json"


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload: whose it is, how long it will be, what it is for, and what it became."""

    token: str
    tenant: str
    actor: str
    length: int
    expires_at: float
    metadata: Mapping[str, str] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None  # what it became; its part is gone then


class UploadBusy(Exception):
    """Another request writes to the same upload."""


@dataclass(frozen=True, slots=True)
class PartialUploads:
    """The unfinished uploads of an installation, in one folder."""

    root: Path

    def create(
        self, tenant: str, actor: str, length: int, metadata: Mapping[str, str], *, seconds: float
    ) -> Upload:
        """Begin an upload."""
        upload = Upload(secrets.token_urlsafe(32), tenant, actor, length, time.time() + seconds, metadata)
        folder = self.root / upload.token
        private.make_folder(folder)
        private.write_file(folder / DATA, b"")
        private.create_whole(folder / INFO, _encode(upload))
        return upload

    def find(self, token: str, tenant: str, actor: str) -> Upload:
        """Return an upload of this principal that has not expired, or raise `UnknownEntity`."""
        found = self._read(token) if TOKEN.fullmatch(token) else None
        if found is None or (found.tenant, found.actor) != (tenant, actor) or found.expires_at < time.time():
            raise UnknownEntity("there is no such upload; it may have expired: create another one")
        return found

    def newest(self, upload: Upload) -> Upload:
        """Return the upload as another request may have changed it meanwhile."""
        return self._read(upload.token) or upload

    def part(self, upload: Upload) -> Path:
        """Return the file with what has arrived."""
        return self.root / upload.token / DATA

    def offset(self, upload: Upload) -> int:
        """Return how many bytes have arrived."""
        try:
            return upload.length if upload.result is not None else self.part(upload).stat().st_size
        except FileNotFoundError:  # another request has just finished it
            return upload.length

    @contextmanager
    def writing(self, upload: Upload) -> Iterator[int]:
        """Yield a descriptor at the end of the part; raise `UploadBusy` if another request has it."""
        try:
            descriptor = os.open(self.part(upload), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            raise UploadBusy from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield descriptor
        except BlockingIOError:
            raise UploadBusy from None
        finally:
            os.close(descriptor)

    def finish(self, upload: Upload, result: Mapping[str, Any]) -> Upload:
        """Note what an upload became, and remove its part."""
        done = replace(upload, result=result)
        path = self.root / upload.token / INFO
        draft = path.with_name(f".{secrets.token_hex(8)}")
        private.write_file(draft, _encode(done))
        draft.rename(path)
        self.part(upload).unlink(missing_ok=True)
        return done

    def remove(self, upload: Upload) -> None:
        """Remove an upload and its part."""
        shutil.rmtree(self.root / upload.token, ignore_errors=True)

    def reserved(self, tenant: str) -> int:
        """Return how many bytes the unfinished uploads of a tenant may take."""
        return sum(each.length for each in self._all() if each.tenant == tenant and each.result is None)

    async def sweep(self) -> int:
        """Remove what has expired; return how many uploads."""
        return await asyncio.to_thread(self._sweep)

    def _sweep(self) -> int:
        expired = [each for each in self._all() if each.expires_at < time.time()]
        for each in expired:
            self.remove(each)
        return len(expired)

    def _all(self) -> Iterator[Upload]:
        with suppress(FileNotFoundError):
            for folder in list(self.root.iterdir()):
                if found := self._read(folder.name):
                    yield found

    def _read(self, token: str) -> Upload | None:
        try:
            return Upload(**json.loads((self.root / token / INFO).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


def _encode(upload: Upload) -> bytes:
    return json.dumps(asdict(upload), ensure_ascii=False, default=str).encode()
