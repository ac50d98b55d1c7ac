"""Judge one bundle and return a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from foja.errors import BadBundle
from foja.pure.core.bundle import names
from foja.pure.core.bundle.manifest import EvidenceFile, Manifest
from foja.pure.judge.container.files import Files, open_files, records_of
from foja.pure.judge.container.ledger import (
    check_agreement,
    check_name,
    check_source,
    find_stream_inclusion,
    read_history,
)
from foja.pure.judge.container.seals import check_seals
from foja.pure.judge.detached import Detached
from foja.pure.judge.existence import Proven
from foja.pure.judge.history import as_of
from foja.pure.judge.inclusion import ORDER_ONLY, Inclusion, log_item, refusal, unsigned
from foja.pure.judge.others.monitors import Marks, alone, judge_others
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.report import Report, Revoked, Subject
from foja.pure.judge.trust import Trust
from foja.pure.models.documents.recorded import RecordedHistory
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Reason, ShownEvent, Status
from foja.pure.quotation import quoted

CONTAINER, LEDGER, SEAL, BITCOIN = "container", "ledger", "seal", "bitcoin"
REQUESTED, REVOKED = "document.protected.requested", "document.revoked"
UNNAMED = "document: its name in the bundle, because the history has none"
NOT_COVERED = "ledger: what was recorded after the last event in this bundle"
FILE_ABSENT = "document: it is not in the bundle; give the file, or its digest"


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """How to judge a bundle: under which trust, at which time, for which file, and with which statements."""

    trust: Trust
    at: datetime
    digest: bytes | None = None
    name: str | None = None
    anchored: Proven | None = None  # by when the whole bundle existed, as a proof beside it shows
    statements: tuple[Detached, ...] = ()  # of monitors


def judge_bundle(file: BinaryIO, question: BundleRequest) -> Report:
    """Return what a bundle proves. No input makes it raise; the file is read in pieces."""
    subject = Subject(question.digest, question.name)
    try:
        files = open_files(file)
    except BadBundle as error:
        return _report(question, subject, (refusal(CONTAINER, error),), ())
    budget = Budget()
    sealed, proven = check_seals(files.seals, question.trust, question.at, budget, question.anchored)
    try:
        manifest = files.manifest()
        if inside := files.statements():
            question = replace(question, statements=(*inside, *question.statements))
    except BadBundle as error:
        return _report(question, subject, (refusal(CONTAINER, error), *sealed), ())
    moment = min(proven.at, question.at) if proven else question.at
    request = ProofRequest(manifest.witness_hash, question.trust, moment, proven=proven, budget=budget)
    ledger, recorded = _ledger(files, manifest, question)
    findings = (
        _container(files, manifest, question.digest),
        *sealed,
        *ledger,
        *_proofs(files, manifest, recorded, request),
        *_signatures(recorded, replace(request, at=question.at), ledger[0]),
    )
    subject = Subject(manifest.witness_hash, _name(manifest, recorded))
    report = _report(question, subject, findings, manifest.required)
    revoked = recorded.history.revoked if recorded else None
    return replace(report, revoked=Revoked(*revoked) if revoked else None)


def _report(
    question: BundleRequest, subject: Subject, findings: tuple[Finding, ...], required: tuple[str, ...]
) -> Report:
    """Require what the trust requires, else what the history requested, else a timestamp.

    A policy about cosigners requires the ledger that they vouch for.
    """
    policy = question.trust
    if not policy.required:
        evidence: tuple[str, ...] = (CONTAINER, SEAL, LEDGER, *(required or ("tsa",)))
    elif policy.cosigner_policy and LEDGER not in policy.required:
        evidence = (CONTAINER, LEDGER, *policy.required)
    else:
        evidence = (CONTAINER, *policy.required)
    return Report(subject, findings, question.at, evidence, policy.document())


def _container(files: Files, manifest: Manifest, digest: bytes | None) -> Finding:
    """C5: the document in the bundle, and the one the caller gave, have the witness as their digest."""
    witness = manifest.witness_hash
    inside = files.digests[manifest.document] if manifest.document else None
    for found, where in ((inside, "in the bundle"), (digest, "you gave")):
        if found is not None and found != witness:
            detail = f"the document {where} is {found.hex()}, the evidence is about {witness.hex()}"
            return Finding(CONTAINER, Status.INVALID, Reason.DIGEST_MISMATCH, detail)
    not_checked = () if inside or digest else (FILE_ABSENT,)
    detail = f"{len(files.container.entries)} files, all listed with their digests"
    return Finding(CONTAINER, Status.VERIFIED, detail=detail, not_checked=not_checked)


def _ledger(
    files: Files, manifest: Manifest, question: BundleRequest
) -> tuple[tuple[Finding, ...], RecordedHistory | None]:
    """L1: the history is valid and in the log. Nothing is returned from a history that is refused.

    The findings about statements of monitors follow the one about the history.
    """
    container, trust = files.container, question.trust
    marks = Marks(question.statements)
    try:
        recorded = read_history(container, manifest, marks)
        check_agreement(manifest, recorded)
        contents = check_source(container, manifest, recorded.history, marks)
        check_name(manifest, recorded.history)
        inclusion = find_stream_inclusion(container, manifest.stream, names.LOG_PROOF, trust)
        _check_named(manifest, inclusion)
        source = inclusion
        if manifest.source:
            source = find_stream_inclusion(container, manifest.source, names.SOURCE_PROOF, trust)
    except BadBundle as error:
        return (refusal(LEDGER, error), *map(alone, question.statements)), None
    if contents and source:
        contents = as_of(contents, source)
    found = _inclusion(manifest, recorded, inclusion, source)
    found = replace(found, history=tuple(_shown(recorded)), contents=contents)
    if not inclusion or not source:
        return (found, *map(alone, question.statements)), recorded
    streams = [manifest.stream, *([manifest.source] if manifest.source else [])]
    heads = {each.entity_id: (each.events, each.head) for each in streams}
    inclusions = (inclusion, source)
    others = judge_others(found, inclusions, heads, question.statements, trust, question.at, marks)
    return others, recorded


def _shown(recorded: RecordedHistory) -> Iterator[ShownEvent]:
    """Yield the first event, the last request, the revocation and the last event, in order and once."""
    events = {each.seq: ShownEvent(each.seq, each.kind, each.at) for each in recorded.ends}
    for each, kind in ((recorded.history.last, REQUESTED), (recorded.history.revoked, REVOKED)):
        if each:
            events[each.seq] = ShownEvent(each.seq, kind, each.at)
    yield from (events[seq] for seq in sorted(events))


def _check_named(manifest: Manifest, inclusion: Inclusion | None) -> None:
    named, found = manifest.checkpoint, inclusion.checkpoint if inclusion else None
    if (named is None) != (found is None):
        raise BadBundle("MISSING_ENTRY", "only one of the manifest and the proof names a checkpoint")
    if named and found and (named.origin, named.size, named.root) != (found.origin, found.size, found.root):
        raise BadBundle("CHECKPOINT_MISMATCH", "the manifest names another checkpoint than the proof")


def _inclusion(
    manifest: Manifest, recorded: RecordedHistory, inclusion: Inclusion | None, source: Inclusion | None
) -> Finding:
    if inclusion is None or source is None:
        detail = "no signed checkpoint covers the history yet"
        return Finding(LEDGER, Status.PENDING, Reason.NO_CHECKPOINT, detail)
    if inclusion.signer is None or source.signer is None:
        return unsigned(source if inclusion.signer else inclusion)
    if recorded.history.erased:
        detail = "the body of document.added is erased or withheld: its name and its source are not known"
        return Finding(LEDGER, Status.INDETERMINATE, Reason.BODY_ERASED, detail)
    detail = (
        f"{manifest.stream.events} events without a gap, in the log {quoted(inclusion.checkpoint.origin)}"
    )
    if recorded.history.revoked is not None:
        detail += f"; event {recorded.history.revoked.seq} revoked the document"
    unnamed = manifest.document and recorded.history.name is None
    not_checked = (ORDER_ONLY, NOT_COVERED, *((UNNAMED,) if unnamed else ()))
    rests_on = tuple(dict.fromkeys((log_item(inclusion), log_item(source))))
    return Finding(LEDGER, Status.VERIFIED, detail=detail, not_checked=not_checked, rests_on=rests_on)


def _proofs(
    files: Files, manifest: Manifest, recorded: RecordedHistory | None, request: ProofRequest
) -> Iterator[Finding]:
    headers = files.headers() if any(each.kind == BITCOIN for each in manifest.evidence) else []
    groups = {paths.record: frozenset({files.digests[paths.blinding]}) for _, paths in records_of(manifest)}
    for each in manifest.evidence:
        if recorded and (by := recorded.lost(each.seq)) is not None:
            yield _lost(each, by)
        else:
            record = recorded.records.get(each.seq) if recorded else None
            own = headers if each.kind == BITCOIN else ()
            nonce = record.nonce if record else None
            own_request = replace(request, headers=own, nonce=nonce, group=groups.get(each.path))
            yield _proof(files, each, own_request)
    there = {each.kind for each in manifest.evidence}
    for kind in manifest.required:
        if kind not in there:
            yield Finding(kind, Status.ABSENT, Reason.NOT_INCLUDED, "it is required, but not in the bundle")


def _signatures(
    recorded: RecordedHistory | None, request: ProofRequest, ledger: Finding
) -> Iterator[Finding]:
    if recorded and recorded.signed:
        from foja.pure.judge.container.signatures import check_signatures  # late: most histories have none

        yield from check_signatures(recorded.signed, request, ledger)


def _lost(evidence: EvidenceFile, by: int) -> Finding:
    """A confirmation whose block was reorganized away proves nothing, and fails nothing."""
    detail = f"event {by} recorded that its block is no longer in the chain; only a later confirmation counts"
    return Finding(evidence.kind, Status.INDETERMINATE, Reason.REORGED, detail, name=evidence.path)


def _proof(files: Files, evidence: EvidenceFile, request: ProofRequest) -> Finding:
    try:
        data = files.container.read(evidence.path)
    except BadBundle as error:
        return replace(refusal(evidence.kind, error), name=evidence.path)
    return check_proof(data, request, name=evidence.path, kind=evidence.kind)


def _name(manifest: Manifest, recorded: RecordedHistory | None) -> str | None:
    """Return the document's name; None if the history is valid and has none, since it is then not proven."""
    if manifest.document is None or (recorded and recorded.history.name is None):
        return None
    return manifest.document.removeprefix(names.DOCUMENT)
