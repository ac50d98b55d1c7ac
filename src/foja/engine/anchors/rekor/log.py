"""Read a Rekor log: its key, its newest checkpoint, and the proof of one entry from its tiles."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from foja.engine.remote.networks.rekor import RekorClient
from foja.errors import Refused, SetupFailed, Unavailable
from foja.pure.core import tiles
from foja.pure.core.note import Checkpoint, Verifier, split_note
from foja.pure.core.tiles import Tile
from foja.pure.proofs.rekor.builder import prove_inclusion
from foja.pure.proofs.rekor.bundle import Inclusion
from foja.pure.proofs.rekor.log import signed_checkpoint
from foja.pure.proofs.rekor.trusted_root import TransparencyLog

_KEY_ID_BYTES = 4


class OtherKey(Exception):
    """The log signs with another key than the configured one."""


class Uncovered(Exception):
    """The newest checkpoint of the log does not cover the entry yet, or its tiles are not there yet."""


class LogReader:
    """A log and the key it must sign with."""

    def __init__(self, client: RekorClient, verifier: Verifier) -> None:
        self._client, self._log = client, TransparencyLog.of(verifier)

    @property
    def log_id(self) -> bytes:
        """The id of the log, as its entries name it."""
        return self._log.id

    async def checkpoint(self) -> tuple[str, Checkpoint]:
        """Return the newest checkpoint, as a note and as read; raise `OtherKey`, `Flaw` or `Tampered`."""
        data = await self._client.read("checkpoint")
        if data is None:
            raise Unavailable("the log has no checkpoint at its read URL; check FOJA_REKOR_READ_URL")
        note = data.decode(errors="replace")
        self.check_key(note)
        return note, signed_checkpoint(note, self._log)

    def check_key(self, note: str) -> None:
        """Raise `OtherKey` if the checkpoint is signed, but not with the configured key."""
        signatures = split_note(note)[1]
        own = self._log.id[:_KEY_ID_BYTES]
        if any((each.name, each.key_id) == (self._log.name, own) for each in signatures):
            return
        found = ", ".join(f"{each.name}+{each.key_id.hex()}" for each in signatures)
        same_name = any(each.name == self._log.name for each in signatures)
        advice = "if its key was rotated, set" if same_name else "if it is the right log, set"
        raise OtherKey(
            f"the log signs as {found[:200]}, not as {self._log.name}+{own.hex()}; "
            f"{advice} FOJA_REKOR_KEY to its key as name+id+key"
        )

    async def inclusion(self, index: int) -> Inclusion:
        """Return the proof that an entry is under the newest checkpoint, or raise `Uncovered`."""
        note, checkpoint = await self.checkpoint()
        if index >= checkpoint.size:
            raise Uncovered(f"the log's checkpoint of {checkpoint.size} entries does not cover entry {index}")
        needed = tiles.inclusion_tiles(index, checkpoint.size)
        found = {tile: await self._tile(tile) for tile in needed}
        return prove_inclusion(index, checkpoint, note, found)

    async def _tile(self, tile: Tile) -> bytes:
        """Return a tile; a log may have deleted a narrow one when it was full."""
        for each in dict.fromkeys((tile, Tile(tile.level, tile.index))):
            data = await self._client.read(each.path)
            if data is not None:
                return data
        raise Uncovered(f"the log has no {tile.path} yet")


def log_key(text: str, url: str) -> Verifier:
    """Return the key in a setting: `name+id+key` or PEM, or a file that holds one; or raise `SetupFailed`.

    PEM does not name the log: it is then called like the host of its URL, as Sigstore does.
    """
    content = text.strip()
    try:
        if "-----BEGIN" not in content and "+" not in content:
            content = Path(content).expanduser().read_text(encoding="utf-8").strip()
        if "-----BEGIN" not in content:
            return Verifier.from_vkey(content)
        key = load_pem_public_key(content.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise SetupFailed("FOJA_REKOR_KEY is not an Ed25519 key; only logs with such a key are supported")
        return Verifier(urlsplit(url).hostname or "", key.public_bytes_raw())
    except OSError as error:
        raise SetupFailed(
            f"FOJA_REKOR_KEY names a file that cannot be read ({error.strerror}); give a key or another file"
        ) from None
    except (ValueError, Refused):  # their text may hold what a wrong file contains, such as a secret
        raise SetupFailed(
            "FOJA_REKOR_KEY is not the key of a log; give name+id+key, the PEM of an Ed25519 key, or a file"
        ) from None
