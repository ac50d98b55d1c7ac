"""Judge one bundle and return a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from foja.core.bundle import names
from foja.core.bundle.manifest import EvidenceFile, Manifest
from foja.core.bundle.record import Record
from foja.documents.model.recorded import RecordedHistory
from foja.errors import BadBundle
from foja.judge.container.files import Files, open_files
from foja.judge.container.ledger import (
    check_agreement,
    check_name,
    check_source,
    find_stream_inclusion,
    read_history,
)
from foja.judge.container.seals import check_seals
from foja.judge.inclusion import Inclusion
from foja.judge.proof import check_proof
from foja.judge.report import Report, Revoked, Subject
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

CONTAINER, LEDGER, SEAL, BITCOIN = "container", "ledger", "seal", "bitcoin"
UNNAMED = "document: its name in the bundle, because the history has none"
NOT_COVERED = "ledger: what was recorded after the last event in this bundle"
FILE_ABSENT = "document: it is not in the bundle; give the file, or its digest"


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """How to judge a bundle: under which trust, at which time, and for which file, if one is given."""

    trust: Trust
    at: datetime
    digest: bytes | None = None
    name: str | None = None


def judge_bundle(file: BinaryIO, question: BundleRequest) -> Report:
    """Return what a bundle proves. No input makes it raise; the file is read in pieces."""
    subject = Subject(question.digest, question.name)
    try:
        files = open_files(file)
    except BadBundle as error:
        return _report(question, subject, (_refusal(CONTAINER, error),), ())
    sealed = check_seals(files.seals, question.trust, question.at)
    try:
        manifest = files.manifest()
    except BadBundle as error:
        return _report(question, subject, (_refusal(CONTAINER, error), *sealed.findings), ())
    moment = min(sealed.since or question.at, question.at)
    ledger, told = _ledger(files, manifest, question.trust)
    findings = (
        _container(files, manifest, question.digest),
        *sealed.findings,
        ledger,
        *_proofs(files, manifest, told, replace(question, at=moment)),
    )
    subject = Subject(manifest.witness_hash, _name(manifest, told))
    report = _report(question, subject, findings, manifest.required)
    revoked = told.history.revoked if told else None
    return replace(report, revoked=Revoked(*revoked) if revoked else None)


def _report(
    question: BundleRequest, subject: Subject, findings: tuple[Finding, ...], required: tuple[str, ...]
) -> Report:
    """Require what the trust requires, else what the history requested, else a timestamp."""
    policy = question.trust
    if not policy.required:
        evidence = (CONTAINER, SEAL, LEDGER, *(required or ("tsa",)))
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


def _ledger(files: Files, manifest: Manifest, trust: Trust) -> tuple[Finding, RecordedHistory | None]:
    """L1: the history is valid and in the log. Nothing is returned from a history that is refused."""
    container = files.container
    try:
        told = read_history(container, manifest)
        check_agreement(manifest, told)
        check_source(container, manifest, told.history)
        check_name(manifest, told.history)
        standing = find_stream_inclusion(container, manifest.stream, names.LOG_PROOF, trust.logs)
        _check_named(manifest, standing)
        source = standing
        if manifest.source:
            source = find_stream_inclusion(container, manifest.source, names.SOURCE_PROOF, trust.logs)
    except BadBundle as error:
        return _refusal(LEDGER, error), None
    return _standing(manifest, told, standing, source), told


def _check_named(manifest: Manifest, standing: Inclusion | None) -> None:
    named, found = manifest.checkpoint, standing.checkpoint if standing else None
    if (named is None) != (found is None):
        raise BadBundle("MISSING_ENTRY", "only one of the manifest and the proof names a checkpoint")
    if named and found and (named.origin, named.size, named.root) != (found.origin, found.size, found.root):
        raise BadBundle("CHECKPOINT_MISMATCH", "the manifest names another checkpoint than the proof")


def _standing(
    manifest: Manifest, told: RecordedHistory, standing: Inclusion | None, source: Inclusion | None
) -> Finding:
    if standing is None or source is None:
        detail = "no signed checkpoint covers the history yet"
        return Finding(LEDGER, Status.PENDING, Reason.NO_CHECKPOINT, detail)
    if standing.signer is None or source.signer is None:
        detail = f"no key you trust signed the log {standing.checkpoint.origin}"
        return Finding(LEDGER, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
    if told.history.erased:
        detail = "the body of document.added is erased or withheld: its name and its source are not known"
        return Finding(LEDGER, Status.INDETERMINATE, Reason.BODY_ERASED, detail)
    detail = f"{manifest.stream.events} events without a gap, in the log {standing.checkpoint.origin}"
    if told.history.revoked is not None:
        detail += f"; event {told.history.revoked.seq} revoked the document"
    not_checked = (
        (NOT_COVERED, UNNAMED) if manifest.document and told.history.name is None else (NOT_COVERED,)
    )
    return Finding(LEDGER, Status.VERIFIED, detail=detail, not_checked=not_checked)


def _proofs(
    files: Files, manifest: Manifest, told: RecordedHistory | None, question: BundleRequest
) -> Iterator[Finding]:
    headers = files.headers() if any(each.kind == BITCOIN for each in manifest.evidence) else []
    asked = replace(question, digest=manifest.witness_hash)
    for each in manifest.evidence:
        if told and (by := told.lost(each.seq)) is not None:
            yield _lost(each, by)
        else:
            record = told.records.get(each.seq) if told else None
            yield _proof(files, each, record, asked, headers if each.kind == BITCOIN else [])
    there = {each.kind for each in manifest.evidence}
    for kind in manifest.required:
        if kind not in there:
            yield Finding(kind, Status.ABSENT, Reason.NOT_INCLUDED, "it is required, but not in the bundle")


def _lost(evidence: EvidenceFile, by: int) -> Finding:
    """A confirmation whose block was reorganized away proves nothing, and fails nothing."""
    detail = f"event {by} recorded that its block is no longer in the chain; only a later confirmation counts"
    return Finding(evidence.kind, Status.INDETERMINATE, Reason.REORGED, detail, name=evidence.path)


def _proof(
    files: Files,
    evidence: EvidenceFile,
    record: Record | None,
    question: BundleRequest,
    headers: list[tuple[int, bytes]],
) -> Finding:
    try:
        data = files.container.read(evidence.path)
    except BadBundle as error:
        return replace(_refusal(evidence.kind, error), name=evidence.path)
    return check_proof(
        data,
        question.digest or b"",
        question.trust,
        question.at,
        name=evidence.path,
        kind=evidence.kind,
        headers=headers,
        nonce=record.nonce if record else None,
    )


def _refusal(evidence: str, error: BadBundle) -> Finding:
    return Finding(evidence, Status.INVALID, Reason(error.code), str(error))


def _name(manifest: Manifest, told: RecordedHistory | None) -> str | None:
    """Return the document's name; None if the history is valid and has none, since it is then not proven."""
    if manifest.document is None or (told and told.history.name is None):
        return None
    return manifest.document.removeprefix(names.DOCUMENT)
