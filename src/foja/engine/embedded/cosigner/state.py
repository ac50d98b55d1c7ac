"""What a cosigner must never forget: its key, and the newest checkpoint that it has seen of each log.

    cosigner/key       the private key
    cosigner/instance  a file that never changes; its inode and change time identify this copy of the folder
    cosigner/state     the newest checkpoint of each log, as the log signed it
    cosigner/lock      held by the one process that signs

A copy of the folder has another `instance`. Such a copy may be older than what the key has signed, so it is
refused: a tree that is smaller than one it signed could be signed again. The folder cannot show that the disk
or the whole machine was set back; the logs then notice that this cosigner has forgotten a size.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from foja.engine import private
from foja.engine.embedded.keys import SEED_BYTES, read_private
from foja.engine.embedded.locks import try_exclusive
from foja.errors import Refused, SetupFailed, Tampered
from foja.pure.core.note import Checkpoint, parse_checkpoint, split_note
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignerSigner

FOLDER, FORM = "cosigner", "foja/cosigner/v1"
KEY, INSTANCE, STATE, LOCK = "key", "instance", "state", "lock"
Instance = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest checkpoint of a log, and the time of the last cosignature in seconds since 1970."""

    note: str
    time: int

    def checkpoint(self) -> Checkpoint:
        """Return its size and root."""
        return parse_checkpoint(split_note(self.note)[0])


@dataclass(frozen=True, slots=True)
class State:
    """The name of a cosigner, how it signs, the copy of its folder, and what it has seen, by origin."""

    name: str
    instance: Instance
    logs: Mapping[str, Seen]
    algorithm: CosignatureAlgorithm = CosignatureAlgorithm.ED25519

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the state that `encode` wrote, or raise `Tampered`."""
        try:
            found = json.loads(data)
            if found["form"] != FORM:
                raise ValueError(found["form"])
            inode, changed = map(int, found["instance"])
            logs = {
                origin: Seen(str(each["note"]), int(each["time"])) for origin, each in found["logs"].items()
            }
            for origin, seen in logs.items():
                if seen.checkpoint().origin != origin:
                    raise ValueError(origin)
            algorithm = CosignatureAlgorithm(found.get("algorithm", CosignatureAlgorithm.ED25519))
            return cls(str(found["name"]), (inode, changed), logs, algorithm)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Tampered(f"the state of the cosigner cannot be read ({error})") from None

    def encode(self) -> bytes:
        """Return the state as bytes to store."""
        logs = {origin: {"note": seen.note, "time": seen.time} for origin, seen in self.logs.items()}
        head = {"form": FORM, "name": self.name, "algorithm": self.algorithm, "instance": self.instance}
        document = {**head, "logs": logs}
        return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


class StateFile:
    """The folder of a cosigner."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER

    def create(self, name: str | None, algorithm: CosignatureAlgorithm) -> None:
        """Create key and state whole, unless they exist. The default name contains the public key."""
        private.make_folder(self.folder.parent)
        if self.folder.exists():
            return
        draft = self.folder.with_name(f".{FOLDER}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.mkdir(mode=0o700)
        try:
            seed = secrets.token_bytes(SEED_BYTES)
            private.write_file(draft / KEY, seed)
            private.write_file(draft / INSTANCE, b"")
            public = CosignerSigner("new", seed, algorithm).key().public_key
            signer = CosignerSigner(name or f"foja.local/cosigner/{public.hex()[:12]}", seed, algorithm)
            signer.key()  # refuses a name that a key cannot have
            state = State(signer.name, _instance(draft), {}, algorithm)
            private.write_file(draft / STATE, state.encode())
            private.sync(draft)
            draft.rename(self.folder)
        except OSError:
            if not self.folder.exists():
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        private.sync(self.folder.parent)

    def read(self) -> State:
        """Return the stored state. Raise `SetupFailed` if it is missing or damaged."""
        try:
            return State.decode((self.folder / STATE).read_bytes())
        except (OSError, Tampered) as error:
            raise SetupFailed(
                f"the cosigner in {self.folder} does not know what it has signed: {error}. Do not use its key"
                " again: remove the folder, so that a new key is made"
            ) from None

    def signer(self, state: State) -> CosignerSigner:
        """Return the signer."""
        try:
            seed = read_private(self.folder / KEY)
        except FileNotFoundError:
            raise SetupFailed(
                f"the key {self.folder / KEY} is missing; remove the folder to create a new cosigner"
            ) from None
        return CosignerSigner(state.name, seed, state.algorithm)

    def write(self, state: State) -> None:
        """Replace the stored state by this one, and return when it survives a power cut."""
        draft = self.folder / f".{STATE}"
        draft.unlink(missing_ok=True)
        private.write_file(draft, state.encode())
        draft.replace(self.folder / STATE)
        private.sync(self.folder)

    def is_copy(self, state: State) -> bool:
        """Return whether the folder is another copy than the one that wrote the state."""
        return state.instance != _instance(self.folder)

    def adopt(self, state: State) -> State:
        """Make this copy the one that signs."""
        state = State(state.name, _instance(self.folder), state.logs)
        self.write(state)
        return state

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the folder. Raise `Refused` if another process holds it."""
        lock = private.open_file(self.folder / LOCK)
        try:
            if not try_exclusive(lock):
                raise Refused(f"another process signs with the cosigner in {self.folder}; stop it first")
            yield
        finally:
            os.close(lock)


def _instance(folder: Path) -> Instance:
    """Return inode and change time of the file; a copy has others, and no tool can set the change time."""
    found = (folder / INSTANCE).stat() if (folder / INSTANCE).exists() else None
    return (found.st_ino, found.st_ctime_ns) if found else (0, 0)
