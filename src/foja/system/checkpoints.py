"""Checkpoints of the log, anchored on a schedule by the batches of documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from foja import sql
from foja.anchors.proofs import AnchorProofs
from foja.driver.database import Database
from foja.system.model.events import CHECKPOINT_ANCHORED


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
        row = await self.database.row(
            sql.query("request_checkpoint_anchors"),
            networks=list(self.proofs.networks),  # those that this process can use
            seconds=self.seconds,
            tenant=self.tenant,
        )
        return int(row[0]) if row else 0

    async def record(self) -> int:
        """Record the checkpoints that networks confirmed since; return how many."""
        recorded = 0
        for batch, network, digest, origin, size, confirmed_at in await self.database.rows(
            sql.query("anchored_checkpoints")
        ):
            if network not in self.proofs.networks:  # another process makes its proofs
                continue
            proof = await self.proofs.proof_of(self.installation_id, network, digest)
            if proof is None:  # taken back in between
                continue
            named = sha256(proof.data).hexdigest()
            payload = {
                "network": network,
                "origin": origin,
                "size": size,
                "sha256": digest,
                "batch": str(batch),
                "confirmed_at": confirmed_at.isoformat(),
                "proof": {"sha256": named},
            }
            key = f"{CHECKPOINT_ANCHORED}:{network}:{named}"
            values = {"entity": self.installation_id, "payload": json.dumps(payload), "key": key}
            await self.database.row(sql.query("record_anchored_checkpoint"), **values)
            recorded += 1
        return recorded
