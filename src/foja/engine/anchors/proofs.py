"""The proof of one document, derived from the batch that holds its digest."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from foja.engine import sql
from foja.engine.anchors.batch import Places
from foja.engine.anchors.network import Batch, Network, State
from foja.engine.driver.database import Database
from foja.errors import CannotProduce

KEPT_BATCHES = 16  # of up to 10,000 digests: 0.8 MB each
_KEY = re.compile(r"(?!rekor:)[^\s+]+\+[0-9a-f]{8}\+[^\s:]+")  # the form of the key of a log


class AnchorProof(NamedTuple):
    """A proof in its tool's own format, and what our own nodes confirmed about its batch."""

    data: bytes
    trust: Sequence[str]


class PlaceRow(NamedTuple):
    """A confirmed batch, and the place of a digest in it."""

    id: UUID
    network: str
    root: bytes
    size: int
    account: str | None
    nonce: int | None
    state: State
    created_at: datetime
    place: int
    digest: str
    trust: Sequence[str]

    @property
    def batch(self) -> Batch:
        """The batch."""
        return Batch(
            self.id,
            self.network,
            self.root,
            self.size,
            self.account,
            self.nonce,
            self.state,
            self.created_at,
        )


class ProofSource(Protocol):
    """Returns the proofs that events name by their digest."""

    async def proof_of(self, document: UUID, network: str, witness: str | None = None) -> AnchorProof | None:
        """Return the proof of a document, or None if no batch with it is confirmed."""

    async def trust_of(self, document: UUID) -> Sequence[str]:
        """Return what our own nodes confirmed about the batches of a document."""


@dataclass(frozen=True, slots=True)
class AnchorProofs:
    """Derives proofs from stored batches. The bytes are the same every time.

    The tree of a batch never changes, and its documents are asked for together: the last ones are kept.
    """

    database: Database
    networks: Mapping[str, Network]
    _kept: OrderedDict[UUID, Places] = field(default_factory=OrderedDict)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def proof_of(self, document: UUID, network: str, witness: str | None = None) -> AnchorProof | None:
        """Return the proof of a document, or None if no batch with it is confirmed."""
        values = {"document": document, "network": network, "witness": witness}
        row = await self.database.row(sql.query("anchored_place"), PlaceRow, **values)
        if row is None:
            return None
        if network not in self.networks:
            raise CannotProduce(
                f"the settings of {network} are missing here, which make its proofs; set them"
            )
        place = (await self._places(row.id)).of(bytes.fromhex(row.digest), row.place)
        proof = self.networks[network].prove(row.batch, place)
        return AnchorProof(proof, [*map(_with_purpose, row.trust)])

    async def _places(self, batch: UUID) -> Places:
        """Return the tree of a batch, which is read once for many documents."""
        async with self._reading:
            if batch not in self._kept:
                row = await self.database.one(sql.query("anchor_leaves"), batch=batch)
                self._kept[batch] = await asyncio.to_thread(Places, *row)
                if len(self._kept) > KEPT_BATCHES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(batch)
            return self._kept[batch]

    async def trust_of(self, document: UUID) -> Sequence[str]:
        """Return what our own nodes confirmed about the batches of a document."""
        found = await self.database.values(sql.query("anchored_trust"), document=document)
        return list(dict.fromkeys(_with_purpose(line) for lines in found for line in lines))


def _with_purpose(line: str) -> str:
    """Return a line of trust with what it is for; older batches have the key of a Rekor log without that."""
    return f"rekor:{line}" if _KEY.fullmatch(line) else line
