"""Read what a bundle holds from the ledger, the log and the store. Nothing is judged here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO
from uuid import UUID

from foja.blobs.store import Store
from foja.core.bundle import history, names
from foja.core.bundle.archive import Part, measured, part
from foja.core.bundle.assembly import Contents
from foja.core.bundle.manifest import EvidenceFile, Manifest, Signed, StreamHead
from foja.core.bundle.record import Record
from foja.core.bundle.transcript import transcript
from foja.core.canonical import Json
from foja.core.excerpt import Excerpt
from foja.core.note import parse_checkpoint, split_note
from foja.core.proof import Proof
from foja.documents.model.history import History
from foja.documents.model.recorded import read_records
from foja.errors import NotCovered, UnknownEntity
from foja.ledger.excerpts import covered, excerpts
from foja.ledger.ledger import Ledger

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What a bundle shows of a document: its events, and what they record about the witness."""

    events: Sequence[Excerpt]
    history: History
    witness: str
    records: Sequence[Record]  # every proof of the witness, in the order of the ledger

    @property
    def stream(self) -> StreamHead:
        """The end of the history."""
        last = self.events[-1]
        return StreamHead(last.domain, last.entity_id, len(self.events), last.chain_hash)

    @property
    def required(self) -> tuple[str, ...]:
        """The evidence of the last request, as it was recorded."""
        last = self.history.last
        return tuple(map(str, last.payload["required_evidence"])) if last else ()

    @property
    def added(self) -> Mapping[str, Json]:
        """The body of `document.added`."""
        return self.history.added or {}


def document_facts(events: Sequence[Excerpt]) -> DocumentFacts:
    """Return what a bundle of these events shows, or raise `UnknownEntity` if no digest is left."""
    found = read_records(events)
    witness = found.history.witness
    if witness is None:
        raise UnknownEntity(
            f"document {events[0].entity_id} has no digest: its first event was erased, and it has no request"
        )
    records = [each for each in found.records.values() if each.witness_hash == witness]
    return DocumentFacts(events, found.history, witness, records)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A stream as a document, and the events that it is made of."""

    stream: StreamHead
    text: bytes
    excerpt: bytes


class BundleFacts:
    """Reads everything a bundle of one document needs."""

    def __init__(self, ledger: Ledger, store: Store, trust: Mapping[str, bytes]) -> None:
        self._ledger, self._store, self._trust = ledger, store, trust

    def of(self, tenant: str) -> BundleFacts:
        """Return the same for another tenant."""
        return BundleFacts(self._ledger.of(tenant), self._store, self._trust)

    async def history(self, entity_id: UUID, high: int | None = None) -> list[Excerpt]:
        """Return the sealed events of a stream below a number, with their chain."""
        return [event async for event in excerpts(self._ledger, entity_id, high)]

    async def transcribe(self, entity_id: UUID) -> Transcript:
        """Return the sealed events of a stream as a document."""
        events = await self.history(entity_id)
        last = events[-1]
        text = transcript(last.domain, entity_id, events)
        stream = StreamHead(last.domain, entity_id, len(events), last.chain_hash)
        return Transcript(stream, b"".join(text), b"".join(history.encode(events)))

    async def covered(self, entity_id: UUID) -> int:
        """Return how many events of a stream a published checkpoint covers."""
        return await covered(self._ledger, entity_id)

    async def prove(self, stream: StreamHead) -> Proof | None:
        """Return the first proof of the end of a history, or None if no checkpoint covers it."""
        try:
            proven = await self._ledger.log.prove(stream.entity_id, stream.events - 1, first=True)
        except NotCovered:
            return None
        return proven.proof

    async def contents(self, facts: DocumentFacts, spool: BinaryIO | None) -> Contents:
        """Return the contents of the bundle; with a `spool` also the document, if its bytes are stored."""
        document = await self._document(facts, spool) if spool else None
        proof = await self.prove(facts.stream)
        source = _source(facts.added)
        source_proof = await self.prove(source) if source else None
        proofs = [await self._proof(record, number) for number, record in enumerate(facts.records, 1)]
        manifest = Manifest(
            witness_hash=bytes.fromhex(facts.witness),
            document=document.entry.name if document else None,
            stream=facts.stream,
            checkpoint=_signed(proof),
            source=source,
            required=facts.required,
            evidence=tuple(map(_evidence, facts.records, proofs)),
        )
        return Contents(
            manifest=manifest,
            events=part(names.EVENTS, b"".join(history.encode(facts.events))),
            document=document,
            log_proof=proof.text() if proof else None,
            source_events=await self._source_events(facts.added) if source else None,
            source_proof=source_proof.text() if source_proof else None,
            proofs=proofs,
            trust=self._trust,
        )

    async def _document(self, facts: DocumentFacts, spool: BinaryIO) -> Part | None:
        """Return the document, or None if its bytes are not stored or the witness is another rendition."""
        if facts.added.get("custody") != "stored" or facts.added.get("sha256") != facts.witness:
            return None
        await self._store.fetch(facts.witness, spool)
        name = facts.added.get("name")
        place = names.document_name(name if isinstance(name, str) else "")
        return await asyncio.to_thread(measured, place, lambda: _pieces(spool))

    async def _proof(self, record: Record, number: int) -> Part:
        data = record.data if record.data is not None else await self._store.get(record.sha256.hex())
        return part(names.proof_name(record.evidence, number), data)

    async def _source_events(self, added: Mapping[str, Json]) -> Part:
        return part(names.SOURCE_EVENTS, await self._store.get(str(added["excerpt_sha256"])))


def _evidence(record: Record, file: Part) -> EvidenceFile:
    return EvidenceFile(record.evidence, file.entry.name, record.seq, file.sha256)


def _signed(proof: Proof | None) -> Signed | None:
    if proof is None:
        return None
    checkpoint = parse_checkpoint(split_note(proof.note)[0])
    return Signed(checkpoint.origin, checkpoint.size, checkpoint.root)


def _source(added: Mapping[str, Json]) -> StreamHead | None:
    """Return the stream of a transcript, or None if the document is not one."""
    named = added.get("transcript_of")
    if not isinstance(named, dict):
        return None
    events = named["events"]
    assert isinstance(events, int)
    return StreamHead(
        str(named["domain"]), UUID(str(named["entity_id"])), events, bytes.fromhex(str(named["head"]))
    )


def _pieces(spool: BinaryIO) -> Iterator[bytes]:
    spool.seek(0)
    while piece := spool.read(CHUNK_BYTES):
        yield piece
