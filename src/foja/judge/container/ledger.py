"""L1: the history in a bundle is whole, signed by a log you trust, and names every proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from foja.core.bundle import history, names
from foja.core.bundle.manifest import EvidenceFile, Manifest, StreamHead, stream_document
from foja.core.bundle.reader import Container
from foja.core.bundle.record import Record, recorded
from foja.core.bundle.transcript import transcript
from foja.core.canonical import Json
from foja.core.chain import leaf_entry
from foja.core.excerpt import Excerpt, moment
from foja.core.note import Verifier
from foja.errors import BadBundle
from foja.judge.inclusion import Inclusion, find_inclusion
from foja.judge.report import Revoked

DOMAIN = "document"
REQUESTED, ADDED, REVOKED = "document.protected.requested", "document.added", "document.revoked"
FAILED, REORGED = "anchor.failed", "reorged"
_ERASABLE = (
    ADDED,
    1,
    "api",
)  # the only body the database ever erases here; nothing hashes what is left of it


@dataclass(frozen=True, slots=True)
class Told:
    """What a history says that the rest of a bundle must agree with."""

    head: bytes
    events: int
    added: Mapping[str, Json] | None
    requested: Mapping[str, Json] | None
    records: Mapping[int, Record]
    lost: Mapping[int, int]  # proofs that were taken back, each with the event that did
    revoked: Revoked | None = None
    erased: bool = False  # what was added is not told any more

    @property
    def name(self) -> str | None:
        """What the history calls the document, if it calls it anything."""
        name = (self.added or {}).get("name")
        return name if isinstance(name, str) else None


def read_history(container: Container, manifest: Manifest) -> Told:
    """Return what the document's stream says, every body, number and link of it checked."""
    stream, head, count = manifest.stream, b"", 0
    if stream.domain != DOMAIN:
        raise BadBundle("WITNESS_MISMATCH", f"the history is of a {stream.domain!a}, not of a {DOMAIN}")
    payloads: dict[str, Mapping[str, Json] | None] = {}
    records, lost, revoked = dict[int, Record](), dict[int, int](), None
    for event in history.decode(stream.domain, stream.entity_id, container.chunks(names.EVENTS)):
        head, count = event.chain_hash, count + 1
        _check_kept(event)
        if event.kind in (ADDED, REQUESTED):
            payloads[event.kind] = event.payload if isinstance(event.payload, dict) else None
        elif event.kind == REVOKED:
            revoked = _revoked(event)
        elif event.kind == FAILED:
            lost |= dict.fromkeys(_taken_back(event, records), event.seq)
        elif record := recorded(event):
            records[event.seq] = record
    _check_end(stream, count, head)
    added, requested = payloads.get(ADDED), payloads.get(REQUESTED)
    erased = ADDED in payloads and added is None
    return Told(head, count, added, requested, records, lost, revoked, erased)


def _taken_back(event: Excerpt, records: Mapping[int, Record]) -> list[int]:
    """Return the confirmations of a network that an event says are in no block any more."""
    said = event.payload if isinstance(event.payload, dict) else {}
    if said.get("failure_code") != REORGED:
        return []
    about = (said.get("network"), said.get("witness_hash"))
    return [seq for seq, each in records.items() if (each.evidence, each.witness_hash) == about]


def _revoked(event: Excerpt) -> Revoked:
    reason = event.payload.get("reason") if isinstance(event.payload, dict) else None
    return Revoked(event.seq, moment(event.at_us), reason if isinstance(reason, str) else None)


def _check_kept(event: Excerpt) -> None:
    """A body is gone only where the database lets it go; what is withheld is not erased."""
    if event.erased and (event.kind, event.v, event.source) != _ERASABLE:
        raise BadBundle(
            "LEDGER_BODY", f"event {event.seq} ({event.kind[:80]!a}) has no body, and is kept whole"
        )


def check_agreement(manifest: Manifest, told: Told) -> None:
    """The manifest says of witness, demands and proofs what the history says, or `BadBundle`."""
    witness = manifest.witness_hash.hex()
    said = told.requested.get("witness_hash") if told.requested else (told.added or {}).get("sha256")
    if said != witness:
        raise BadBundle("WITNESS_MISMATCH", "the history is about another digest than the manifest")
    required = told.requested.get("required_evidence") if told.requested else []
    if required != list(manifest.required):
        raise BadBundle("REQUIRED_MISMATCH", "the last request of the history demands other evidence")
    for each in manifest.evidence:
        _check_record(each, told.records.get(each.seq), witness)


def check_name(manifest: Manifest, told: Told) -> None:
    """The document is called what the history calls it, where it calls it anything, or `BadBundle`."""
    name = told.name
    if manifest.document and name is not None and manifest.document != names.document_name(name):
        raise BadBundle("NAME_MISMATCH", "the document has another name than the history gives it")


def check_source(container: Container, manifest: Manifest, told: Told) -> None:
    """A transcript is exactly what its conversation's events say, or `BadBundle`."""
    named = (told.added or {}).get("transcript_of")
    source = manifest.source
    if source is None:
        if named is not None:
            raise BadBundle("TRANSCRIPT_MISMATCH", "the history names a conversation that is not there")
        return
    if named != stream_document(source):
        raise BadBundle("TRANSCRIPT_MISMATCH", "the history names another conversation, or none")
    events = list(_source_events(container, source))
    digest = sha256()
    for line in transcript(source.domain, source.entity_id, events):
        digest.update(line)
    if digest.digest() != manifest.witness_hash:
        raise BadBundle("TRANSCRIPT_MISMATCH", "the conversation's events make another transcript")


def find_stream_inclusion(
    container: Container, stream: StreamHead, path: str, verifiers: Iterable[Verifier]
) -> Inclusion | None:
    """Return where the last event stands; None without a proof. A wrong proof is `BadBundle`."""
    if path not in container or not stream.events:
        return None
    data = container.read(path)
    standing = find_inclusion(
        data, [leaf_entry(stream.entity_id, stream.events - 1, stream.head)], verifiers, path
    )
    if standing.proof.text().encode() != data:
        raise BadBundle("NON_CANONICAL", f"{path} is not in its one spelling")
    return standing


def _source_events(container: Container, source: StreamHead) -> Iterable[Excerpt]:
    head, count = b"", 0
    for event in history.decode(source.domain, source.entity_id, container.chunks(names.SOURCE_EVENTS)):
        head, count = event.chain_hash, count + 1
        yield event
    _check_end(source, count, head)


def _check_end(stream: StreamHead, count: int, head: bytes) -> None:
    if count != stream.events:
        raise BadBundle("LEDGER_GAP", f"the history has {count} events, the manifest says {stream.events}")
    if count and head != stream.head:
        raise BadBundle("LEDGER_HEAD", "the events lead to another head than the manifest says")


def _check_record(evidence: EvidenceFile, record: Record | None, witness: str) -> None:
    if record is None or record.evidence != evidence.kind:
        raise BadBundle("EVIDENCE_NOT_RECORDED", f"no event {evidence.seq} recorded {evidence.path}")
    if record.witness_hash != witness:
        raise BadBundle("WITNESS_MISMATCH", f"{evidence.path} was recorded for another digest")
    if record.sha256 != evidence.sha256:
        raise BadBundle("EVIDENCE_MISMATCH", f"{evidence.path} is not what event {evidence.seq} recorded")
