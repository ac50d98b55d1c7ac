"""L1: the history in a bundle is whole, signed by a log you trust, and names every proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from foja.errors import BadBundle
from foja.pure.core.bundle import names
from foja.pure.core.bundle.history import decode, split, transcript
from foja.pure.core.bundle.manifest import EvidenceFile, Manifest, StreamHead, document_of
from foja.pure.core.bundle.reader import Container
from foja.pure.core.bundle.record import Record
from foja.pure.core.chain import leaf_entry
from foja.pure.core.excerpt import Excerpt
from foja.pure.judge.collector import in_rounds, paused
from foja.pure.judge.contents import ContentsReader
from foja.pure.judge.inclusion import Inclusion, find_inclusion
from foja.pure.judge.others.monitors import Marks
from foja.pure.judge.trust import Trust
from foja.pure.models.documents.history import History
from foja.pure.models.documents.recorded import RecordedHistory, read_records
from foja.pure.proofs.contents import Contents
from foja.pure.quotation import quoted

DOMAIN = "document"
_ERASABLE = "document.added"  # the only body that the database erases


@paused()
def read_history(container: Container, manifest: Manifest, marks: Marks) -> RecordedHistory:
    """Return the document's history, every body, number and link of it checked, or raise `BadBundle`."""
    if manifest.stream.domain != DOMAIN:
        raise BadBundle(
            "WITNESS_MISMATCH", f"the history is of a {quoted(manifest.stream.domain)}, not of a {DOMAIN}"
        )
    lines = in_rounds(split(container.chunks(names.EVENTS)))
    return read_records(_kept(marks.passing(_events(lines, manifest.stream))))


def _kept(events: Iterable[Excerpt]) -> Iterator[Excerpt]:
    """Yield the events, or raise `BadBundle` for a missing body that the database never erases."""
    for event in events:
        if event.erased and event.kind != _ERASABLE:
            raise BadBundle(
                "LEDGER_BODY", f"event {event.seq} ({quoted(event.kind)}) has no body, and is kept whole"
            )
        yield event


def check_agreement(manifest: Manifest, recorded: RecordedHistory) -> None:
    """Raise `BadBundle` unless the history names the witness, requirements and proofs of the manifest."""
    witness, last = manifest.witness_hash.hex(), recorded.history.last
    if recorded.history.witness != witness:
        raise BadBundle("WITNESS_MISMATCH", "the history is about another digest than the manifest")
    required = last.payload.get("required_evidence") if last else []
    if required != list(manifest.required):
        raise BadBundle("REQUIRED_MISMATCH", "the last request of the history demands other evidence")
    for each in manifest.evidence:
        _check_record(each, recorded.records.get(each.seq), witness)


def check_name(manifest: Manifest, history: History) -> None:
    """Raise `BadBundle` if the history gives the document another name than the bundle."""
    name = history.name
    if manifest.document and name is not None and manifest.document != names.document_name(name):
        raise BadBundle("NAME_MISMATCH", "the document has another name than the history gives it")


@paused()
def check_source(container: Container, manifest: Manifest, history: History, marks: Marks) -> Contents | None:
    """A transcript is exactly what its stream's events say, or `BadBundle`. Return what they say."""
    named = (history.added or {}).get("transcript_of")
    source = manifest.source
    if source is None:
        if named is not None:
            raise BadBundle("TRANSCRIPT_MISMATCH", "the history names a conversation that is not there")
        return None
    if named != document_of(source):
        raise BadBundle("TRANSCRIPT_MISMATCH", "the history names another conversation, or none")
    digest, contents = sha256(), ContentsReader()
    lines = contents.measuring(in_rounds(split(container.chunks(names.SOURCE_EVENTS))))
    events = contents.reading(marks.passing(_events(lines, source)))
    for line in transcript(source.domain, source.entity_id, events):
        digest.update(line)
    if digest.digest() != manifest.witness_hash:
        raise BadBundle("TRANSCRIPT_MISMATCH", "the conversation's events make another transcript")
    return contents.contents(source.entity_id, source.domain)


def find_stream_inclusion(
    container: Container, stream: StreamHead, path: str, trust: Trust
) -> Inclusion | None:
    """Return where the last event stands; None without a proof. A wrong proof is `BadBundle`."""
    if path not in container or not stream.events:
        return None
    data = container.read(path)
    entry = leaf_entry(stream.entity_id, stream.events - 1, stream.head)
    inclusion = find_inclusion(data, [entry], trust, path)
    if inclusion.proof.text().encode() != data:
        raise BadBundle("NON_CANONICAL", f"{path} is not in its one spelling")
    return inclusion


def _events(lines: Iterator[bytes], stream: StreamHead) -> Iterator[Excerpt]:
    """Yield the events of these lines, each checked; they must end where the manifest says."""
    head, count = b"", 0
    for event in decode(stream.domain, stream.entity_id, lines):
        head, count = event.chain_hash, count + 1
        yield event
    if count != stream.events:
        raise BadBundle("LEDGER_GAP", f"the history has {count} events, the manifest says {stream.events}")
    if count and head != stream.head:
        raise BadBundle("LEDGER_HEAD", "the events lead to another head than the manifest says")


def _check_record(evidence: EvidenceFile, record: Record | None, witness: str) -> None:
    if record is None or record.evidence != evidence.kind:
        raise BadBundle("EVIDENCE_NOT_RECORDED", f"no event {evidence.seq} recorded {quoted(evidence.path)}")
    if record.witness_hash != witness:
        raise BadBundle("WITNESS_MISMATCH", f"{quoted(evidence.path)} was recorded for another digest")
    in_a_batch = evidence.path.startswith(names.META)
    if record.sha256 != evidence.sha256 or (record.blinding is not None) != in_a_batch:
        raise BadBundle(
            "EVIDENCE_MISMATCH", f"{quoted(evidence.path)} is not what event {evidence.seq} recorded"
        )
