"""Bundles: read from the ledger, the log and the store, stamped, written, and judged as by `foja verify`."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, BinaryIO, cast
from uuid import UUID

from foja.domains.documents.container import SMALL_BYTES, ProvenHistory, Sealed, Unsealed, write_parts
from foja.domains.documents.seals import seal_alone, seal_together, stamp_listing
from foja.domains.documents.stamper import Stamper
from foja.engine.anchors.proofs import AnchorProof, ProofSource
from foja.engine.blobs.objects import Objects
from foja.engine.ledger.excerpts import covered, excerpts, histories
from foja.engine.ledger.ledger import Ledger
from foja.errors import Refused, UnknownEntity
from foja.pure.core.bundle import assembly, history, names
from foja.pure.core.bundle.archive import Part, measured, part
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.manifest import EvidenceFile, Manifest, Signed, StreamHead, document_of
from foja.pure.core.bundle.reader import Container, open_container
from foja.pure.core.bundle.record import Record
from foja.pure.core.canonical import Json
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.core.proof import Proof
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.report import Report
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read as read_trust
from foja.pure.models.documents.events import Evidence
from foja.pure.models.documents.recorded import RecordedHistory, read_records
from foja.pure.proofs.monitor_statement import parse_monitor_statement
from foja.pure.proofs.tsa import Timestamp

CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class Bundles:
    """Writes the bundle of any document, at any time."""

    _ledger: Ledger
    _objects: Objects
    _stamper: Stamper
    _anchors: ProofSource
    _roots: tuple[str | bytes, ...]
    _copies: Mapping[str, bytes]

    def of(self, tenant: str) -> Bundles:
        """Return the same for the documents of another tenant."""
        return replace(self, _ledger=self._ledger.of(tenant))

    async def read(
        self, wanted: Sequence[tuple[UUID, int]], *, patient: bool = False
    ) -> list[ProvenHistory | None]:
        """Return the first events of each document, or None where no published checkpoint covers them.

        With `patient`, also None while cosigners may still sign the checkpoint.
        """
        ends = [(document, length - 1) for document, length in wanted]
        proofs = await self._ledger.log.prove_first(ends, patient=patient)
        covered = [each for each, proof in zip(wanted, proofs, strict=True) if proof]
        found = dict(zip(covered, await histories(self._ledger, covered), strict=True))
        return [
            ProvenHistory(found[each], proof) if proof else None
            for each, proof in zip(wanted, proofs, strict=True)
        ]

    async def write(
        self,
        document: UUID,
        target: BinaryIO,
        *,
        with_document: bool = True,
        statements: Sequence[bytes] = (),
    ) -> None:
        """Write the bundle of as many events as a checkpoint covers, or of all if it covers none.

        Raise `Refused` unless each of the monitors' statements is about the end of a history in it.
        """
        length = await covered(self._ledger, document)
        proven = (await self.read([(document, length)]))[0] if length else None
        if proven is None:
            proven = ProvenHistory([event async for event in excerpts(self._ledger, document)], None)
        with tempfile.SpooledTemporaryFile(SMALL_BYTES) if with_document else nullcontext() as spool:
            bundle = await self.collect(proven, cast("BinaryIO | None", spool), statements)
            await (await seal_alone(self._stamper, bundle)).write(target)

    async def collect(
        self, proven: ProvenHistory, spool: BinaryIO | None, statements: Sequence[bytes] = ()
    ) -> Unsealed:
        """Return the bundle of this history, without a seal; with a `spool`, the document is in it too.

        The spool must stay open until the bundle is written.
        """
        contents, trust = await self._contents(proven, spool)
        contents = replace(contents, statements=_vouched(contents.manifest, statements))
        return Unsealed(contents.parts(), contents.manifest.witness_hash.hex(), trust)

    async def seal(self, bundles: Sequence[Unsealed]) -> list[Sealed]:
        """Return these bundles under one token, or raise `Unstamped`."""
        return await seal_together(self._stamper, bundles)

    async def store_transcript(self, entity_id: UUID) -> dict[str, Any]:
        """Store the sealed events of a stream as a document; return the payload fields that describe it."""
        events = [event async for event in excerpts(self._ledger, entity_id)]
        objects = self._objects.of(self._ledger.tenant)
        text = b"".join(history.transcript(events[-1].domain, entity_id, events))
        return {
            "sha256": (await objects.put(text)).sha256,
            "custody": "stored",
            "size": len(text),
            "transcript_of": document_of(_head(events)),
            "excerpt_sha256": (await objects.put(b"".join(history.encode(events)))).sha256,
        }

    async def renew(self, source: BinaryIO, target: BinaryIO) -> Timestamp:
        """Write a container again, with one more token over everything in it."""
        container = open_container(source)
        number = sum(map(names.is_seal_list, container.names))
        parts = await asyncio.to_thread(_parts, container, number)
        listed = assembly.listing(parts, number)
        found = await stamp_listing(self._stamper, listed)
        sealed = assembly.seal(parts, found.token, number, listed=listed)
        await asyncio.to_thread(write_parts, sealed, target)
        return found

    async def trust(self, document: UUID) -> list[str]:
        """Return the roots of this installation, and what its nodes confirmed about a document's anchors."""
        roots = [each.decode() if isinstance(each, bytes) else each for each in self._roots]
        return [*roots, *await self._anchors.trust_of(document)]

    async def proofs(self, document: UUID) -> dict[str, bytes]:
        """Return each proof of the current witness by the name of a file in its tool's own format."""
        found = read_records([event async for event in excerpts(self._ledger, document)])
        files, _ = await self._proof_files(document, _records(found, found.history.witness), None)
        return {names.loose_name(each.entry.name): b"".join(each.chunks()) for own in files for each in own}

    async def judge(self, file: BinaryIO, trust: Iterable[str] = ()) -> Report:
        """Return the report of `foja verify` on a container, as of now by the database's clock.

        `trust` is added to the roots of this installation.
        """
        return await asyncio.to_thread(judge_bundle, file, await self._request(trust))

    async def judge_small(self, data: bytes, trust: Iterable[str] = ()) -> Report:
        """Return the same for a small container: at once, since changing threads costs more."""
        return judge_bundle(io.BytesIO(data), await self._request(trust))

    async def _request(self, trust: Iterable[str]) -> BundleRequest:
        found = replace(_trust((*self._roots, *trust)), crls=tuple(self._stamper.terms.crls))
        return BundleRequest(found, await self._ledger.now())

    async def _contents(
        self, proven: ProvenHistory, spool: BinaryIO | None
    ) -> tuple[Contents, tuple[str, ...]]:
        """Return the contents of the bundle and what our nodes confirmed about its anchors.

        With a `spool` the document is in it too, if its bytes are stored.
        """
        events, proof = proven.events, proven.proof
        found = read_records(events)
        witness, added, last = found.history.witness, found.history.added or {}, found.history.last
        if witness is None:
            raise UnknownEntity(f"document {events[0].entity_id} has no digest: it was erased")
        document = await self._document(witness, added, spool) if spool else None
        stream, source = _head(events), _source(added)
        source_proof = await self._prove(source) if source else None
        records = _records(found, witness)
        path = document.entry.name if document else None
        proofs, trust = await self._proof_files(stream.entity_id, records, path)
        manifest = Manifest(
            witness_hash=bytes.fromhex(witness),
            document=path,
            stream=stream,
            checkpoint=_signed(proof),
            source=source,
            required=tuple(map(str, last.payload["required_evidence"])) if last else (),
            evidence=tuple(_evidence(record, own[0]) for record, own in zip(records, proofs, strict=True)),
        )
        contents = Contents(
            manifest=manifest,
            events=part(names.EVENTS, b"".join(history.encode(events))),
            document=document,
            log_proof=proof.text() if proof else None,
            source_events=await self._source_events(added) if source else None,
            source_proof=source_proof.text() if source_proof else None,
            proofs=[each for own in proofs for each in own],
            trust=self._copies,
        )
        return contents, trust

    async def _proof_files(
        self, document: UUID, records: Sequence[Record], path: str | None
    ) -> tuple[list[list[Part]], tuple[str, ...]]:
        """Return the files of each proof, and what our nodes confirmed about all of them."""
        native = [await self._proof(document, record) for record in records]
        files = [
            assembly.proof_files(record, proof.data, number, path)
            for number, (record, proof) in enumerate(zip(records, native, strict=True), 1)
        ]
        return files, tuple(dict.fromkeys(line for proof in native for line in proof.trust))

    async def _prove(self, stream: StreamHead) -> Proof | None:
        """Return the first proof of the end of a history, or None if no checkpoint covers it."""
        return (await self._ledger.log.prove_first([(stream.entity_id, stream.events - 1)]))[0]

    async def _document(self, witness: str, added: Mapping[str, Json], spool: BinaryIO) -> Part | None:
        """Return the document, or None if its bytes are not stored or the witness is another rendition."""
        if added.get("custody") != "stored" or added.get("sha256") != witness:
            return None
        await self._objects.fetch(self._ledger.tenant, witness, spool)
        name = added.get("name")
        place = names.document_name(name if isinstance(name, str) else "")
        return await asyncio.to_thread(measured, place, lambda: _pieces(spool))

    async def _proof(self, document: UUID, record: Record) -> AnchorProof:
        """Return a proof: from its event, derived from its batch, or from the store."""
        if record.data is not None:
            return AnchorProof(record.data, ())
        derived = await self._anchors.proof_of(document, record.evidence, record.witness_hash)
        if derived is not None and sha256(derived.data).digest() == record.sha256:
            return derived
        return AnchorProof(await self._objects.get(self._ledger.tenant, record.sha256.hex()), ())

    async def _source_events(self, added: Mapping[str, Json]) -> Part:
        data = await self._objects.get(self._ledger.tenant, str(added["excerpt_sha256"]))
        return part(names.SOURCE_EVENTS, data)


def open_bundles(
    ledger: Ledger, objects: Objects, stamper: Stamper, anchors: ProofSource, vkey: str
) -> Bundles:
    """Return the bundles of an installation: judged by what it trusts, and with copies of it."""
    terms = stamper.terms
    certificates = [each.pem for each in (*terms.roots, *terms.intermediates)]
    copies = {"log.vkey": f"{vkey}\n".encode(), "tsa.pem": b"".join(certificates)}
    return Bundles(ledger, objects, stamper, anchors, (vkey, *certificates), copies)


@lru_cache(maxsize=64)
def _trust(items: tuple[str | bytes, ...]) -> Trust:
    """Parse trust; cached, since the documents of a batch have the same."""
    return read_trust(items)


def _records(found: RecordedHistory, witness: str | None) -> list[Record]:
    """Return the proofs of a witness, except refused tokens, and those taken back that no event holds."""

    def counts(record: Record) -> bool:
        kept = record.data is not None and record.evidence != Evidence.TSA
        return kept or found.lost(record.seq) is None

    return [each for each in found.records.values() if each.witness_hash == witness and counts(each)]


def _head(events: Sequence[Excerpt]) -> StreamHead:
    last = events[-1]
    return StreamHead(last.domain, last.entity_id, len(events), last.chain_hash)


def _evidence(record: Record, file: Part) -> EvidenceFile:
    return EvidenceFile(record.evidence, file.entry.name, record.seq, file.sha256)


def _vouched(manifest: Manifest, statements: Sequence[bytes]) -> dict[str, bytes]:
    """Return monitors' statements by their paths, or raise `Refused` for one about anything else."""
    heads = ((manifest.stream, names.MONITORED), (manifest.source, names.SOURCE_MONITORED))
    ends = {head.entity_id: (head, path) for head, path in heads if head}
    found = dict[str, bytes]()
    for each in statements:
        told = parse_monitor_statement(each)
        head, path = ends.get(told.entity_id, (None, ""))
        if head is None or path in found:
            raise Refused(f"{told.entity_id}: a bundle holds one statement about each of its own streams")
        if (told.events, told.head) != (head.events, head.head):
            raise Refused(
                f"the monitor found event {told.events - 1} as the last one of {told.entity_id}, and the"
                f" bundle ends with event {head.events - 1}; poll and vouch again, then write the bundle"
            )
        found[path] = each
    return found


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


def _parts(container: Container, renewals: int) -> list[Part]:
    return [
        measured(names.renewed_name(name, renewals), lambda name=name: container.chunks(name))  # type: ignore[misc]
        for name in container.names
    ]
