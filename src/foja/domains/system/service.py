"""The installation's own stream: append and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from foja.engine import sql
from foja.engine.anchors.proofs import AnchorProof, AnchorProofs
from foja.engine.driver.database import Database
from foja.engine.ledger.event import Event
from foja.engine.ledger.ledger import Ledger
from foja.errors import Tampered
from foja.pure.models.system.events import KEY_ROTATED, SYSTEM, TENANT

MAX_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class AnchoredCheckpoint:
    """A checkpoint that a network confirmed. The anchored digest is that of the bytes of its note."""

    origin: int | None  # the number of its log; None: there is no such log any more
    log: str
    size: int
    network: str
    sha256: str
    batch: UUID
    confirmed_at: datetime
    status: str | None  # of its batch now
    note: str | None  # the signed checkpoint

    @property
    def name(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.origin}-{self.size}"

    def checked_note(self) -> bytes:
        """Return the note, or raise `Tampered` if it is not the one that was anchored."""
        note = (self.note or "").encode()
        if self.origin is None or sha256(note).hexdigest() != self.sha256:
            raise Tampered(
                f"the checkpoint of {self.size} entries of {self.log} is not the one that {self.network} "
                "confirmed; `foja fsck` names what was changed"
            )
        return note


class System:
    """The stream of this installation. Its events belong to no tenant of its users."""

    def __init__(
        self, ledger: Ledger, installation_id: UUID, database: Database, proofs: AnchorProofs
    ) -> None:
        self.id = installation_id
        self._ledger, self._database, self._proofs = ledger.of(TENANT), database, proofs

    async def rotate_key(self, key_id: str, purpose: str, *, actor: str | None = None, **more: Any) -> Event:
        """Record that a key is in use from now on. Recording it again returns the first event."""
        payload = {"key_id": key_id, "purpose": purpose, **more}
        key = f"{KEY_ROTATED}:{purpose}:{key_id}"
        draft = self._ledger.draft(SYSTEM, self.id, KEY_ROTATED, payload, actor=actor, idempotency_key=key)
        return await self._ledger.append(draft)

    async def events(self) -> Sequence[Event]:
        """Return all events of the installation, in order; none if nothing was recorded."""
        return await self._ledger.events(self.id, None, MAX_EVENTS)

    async def anchored(self) -> Sequence[AnchoredCheckpoint]:
        """Return each checkpoint that a network confirmed, the smallest first."""
        return await self._database.rows(sql.query("anchored_notes"), AnchoredCheckpoint)

    async def proof_of(self, checkpoint: AnchoredCheckpoint) -> AnchorProof | None:
        """Return the proof that a network confirmed a checkpoint, or None if it is not confirmed now."""
        return await self._proofs.proof_of(self.id, checkpoint.network, checkpoint.sha256)
