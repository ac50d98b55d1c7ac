"""One event with the proof that it is in the log. Checking it needs the log's public key, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from foja.core.excerpt import Excerpt
from foja.core.note import parse_checkpoint, split_note
from foja.core.proof import Proof
from foja.errors import UnknownEntity
from foja.judge.report import Report
from foja.ledger.excerpts import excerpt
from foja.ledger.ledger import Ledger
from foja.verification import verify


@dataclass(frozen=True, slots=True)
class EventProof:
    """An event and the proof that it is in the log."""

    excerpt: Excerpt
    proof: Proof

    @property
    def index(self) -> int:
        """Position of the event in the log, from 0."""
        return self.proof.index

    @property
    def size(self) -> int:
        """Number of events that the signed checkpoint covers."""
        return parse_checkpoint(split_note(self.proof.note)[0]).size

    def event_text(self) -> str:
        """Return the event as `foja log prove` writes it to an `.event.json` file."""
        return self.excerpt.text()

    def proof_text(self) -> str:
        """Return the proof as `foja log prove` writes it to a `.tlog-proof` file."""
        return self.proof.text()

    def verify(self, trust: Sequence[str]) -> Report:
        """Return the report of `foja.verify` on this event, without database or network."""
        return verify(self.event_text().encode(), trust, proofs=[self.proof_text().encode()])


async def prove_event(ledger: Ledger, entity_id: UUID, seq: int) -> EventProof:
    """Return the proof of an event against the newest published checkpoint.

    Raise `UnknownEntity` if the stream has no such event, `NotCovered` if no checkpoint covers it yet.
    """
    if not 0 <= seq < (await ledger.state(entity_id)).next_seq:
        raise UnknownEntity(f"{entity_id} has no event {seq}; check the id, the number and FOJA_TENANT")
    proven = await ledger.log.prove(entity_id, seq)
    return EventProof(await excerpt(ledger, entity_id, seq), proven.proof)
