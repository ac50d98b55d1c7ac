"""What a bundle holds, taken out of the ledger, the log and the store. It judges nothing."""

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
from foja.core.bundle.record import Record, recorded
from foja.core.bundle.transcript import transcript
from foja.core.canonical import Json
from foja.core.excerpt import Excerpt
from foja.core.note import parse_checkpoint, split_note
from foja.core.proof import Proof
from foja.errors import NotCovered, UnknownEntity
from foja.ledger.excerpts import covered, excerpts
from foja.ledger.ledger import Ledger

CHUNK_BYTES = 1 << 20
ADDED, REQUESTED = "document.added", "document.protected.requested"


@dataclass(frozen=True, slots=True)
class Told:
    """What a document's events say that its bundle must show."""

    events: Sequence[Excerpt]

    @property
    def stream(self) -> StreamHead:
        """Where the history ends."""
        last = self.events[-1]
        return StreamHead(last.domain, last.entity_id, len(self.events), last.chain_hash)

    @property
    def witness(self) -> str:
        """The digest of the last request, or of what was added."""
        said = self._last(REQUESTED).get("witness_hash") or self.added.get("sha256")
        if not isinstance(said, str):
            raise UnknownEntity(
                f"document {self.events[0].entity_id} names no digest any more: its first event was erased"
            )
        return said

    @property
    def required(self) -> tuple[str, ...]:
        """The evidence of the last request."""
        wanted = self._last(REQUESTED).get("required_evidence")
        return tuple(map(str, wanted)) if isinstance(wanted, list) else ()

    @property
    def added(self) -> Mapping[str, Json]:
        """What was added."""
        return self._last(ADDED)

    @property
    def records(self) -> list[Record]:
        """Every proof of the witness, in the order of the ledger."""
        found = (recorded(event) for event in self.events)
        return [each for each in found if each and each.witness_hash == self.witness]

    def _last(self, kind: str) -> Mapping[str, Json]:
        said = [event.payload for event in self.events if event.kind == kind]
        return said[-1] if said and isinstance(said[-1], dict) else {}


@dataclass(frozen=True, slots=True)
class Transcript:
    """A stream as a document, and the events it is made of."""

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
        """Return everything a stream says that is sealed."""
        events = await self.history(entity_id)
        last = events[-1]
        text = transcript(last.domain, entity_id, events)
        stream = StreamHead(last.domain, entity_id, len(events), last.chain_hash)
        return Transcript(stream, b"".join(text), b"".join(history.encode(events)))

    async def covered(self, entity_id: UUID) -> int:
        """Return how many events of a stream a published checkpoint covers."""
        return await covered(self._ledger, entity_id)

    async def prove(self, stream: StreamHead) -> Proof | None:
        """Return the first proof that there ever was of the end of a history."""
        try:
            proven = await self._ledger.log.prove(stream.entity_id, stream.events - 1, first=True)
        except NotCovered:
            return None
        return proven.proof

    async def contents(self, told: Told, spool: BinaryIO | None) -> Contents:
        """Return what goes into the bundle; the document by way of `spool`, if it is wanted and here."""
        document = await self._document(told, spool) if spool else None
        proof = await self.prove(told.stream)
        source = _source(told.added)
        source_proof = await self.prove(source) if source else None
        proofs = [await self._proof(record, number) for number, record in enumerate(told.records, 1)]
        manifest = Manifest(
            witness_hash=bytes.fromhex(told.witness),
            document=document.entry.name if document else None,
            stream=told.stream,
            checkpoint=_signed(proof),
            source=source,
            required=told.required,
            evidence=tuple(map(_evidence, told.records, proofs)),
        )
        return Contents(
            manifest=manifest,
            events=part(names.EVENTS, b"".join(history.encode(told.events))),
            document=document,
            log_proof=proof.text() if proof else None,
            source_events=await self._source_events(told.added) if source else None,
            source_proof=source_proof.text() if source_proof else None,
            proofs=proofs,
            trust=self._trust,
        )

    async def _document(self, told: Told, spool: BinaryIO) -> Part | None:
        """Return the document itself, unless its bytes are elsewhere or the witness is another rendition."""
        if told.added.get("custody") != "stored" or told.added.get("sha256") != told.witness:
            return None
        await self._store.fetch(told.witness, spool)
        name = told.added.get("name")
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
    """Return the stream that a transcript was made of."""
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
