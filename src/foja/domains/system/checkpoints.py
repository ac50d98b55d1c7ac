"""Checkpoints of the log, anchored on a schedule by the batches of documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from foja.engine import sql
from foja.engine.anchors.proofs import AnchorProofs
from foja.engine.driver.database import Database
from foja.pure.models.system.events import CHECKPOINT_ANCHORED


class ConfirmedCheckpoint(NamedTuple):
    """A checkpoint in a confirmed batch."""

    batch: UUID
    network: str
    digest: str
    origin: str
    size: int
    confirmed_at: datetime


@dataclass(frozen=True, slots=True)
class CheckpointAnchors:
    """Requests anchors of checkpoints, and records those that were confirmed."""

    database: Database  # as the sweeper
    installation_id: UUID
    proofs: AnchorProofs
    seconds: float  # between two anchored checkpoints of a network
    tenant: str  # whose workers submit them

    async def request(self) -> int:
        """Request an anchor of the newest checkpoint where it is time; return how many were requested."""
        usable = list(self.proofs.networks)  # by this process
        values = {"networks": usable, "seconds": self.seconds, "tenant": self.tenant}
        return int(await self.database.value(sql.query("request_checkpoint_anchors"), **values))

    async def record(self) -> int:
        """Record the checkpoints that networks confirmed since; return how many."""
        recorded = 0
        for row in await self.database.rows(sql.query("anchored_checkpoints"), ConfirmedCheckpoint):
            if row.network not in self.proofs.networks:  # another process makes its proofs
                continue
            proof = await self.proofs.proof_of(self.installation_id, row.network, row.digest)
            if proof is None:  # taken back in between
                continue
            named = sha256(proof.data).hexdigest()
            payload = {
                "network": row.network,
                "origin": row.origin,
                "size": row.size,
                "sha256": row.digest,
                "batch": str(row.batch),
                "confirmed_at": row.confirmed_at.isoformat(),
                "proof": {"sha256": named},
            }
            key = f"{CHECKPOINT_ANCHORED}:{row.network}:{named}"
            values = {"entity": self.installation_id, "payload": json.dumps(payload), "key": key}
            await self.database.row(sql.query("record_anchored_checkpoint"), **values)
            recorded += 1
        return recorded
