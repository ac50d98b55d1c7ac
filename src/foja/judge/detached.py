"""Judge a file, or only its digest, with proofs in separate files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from foja.judge.proof import LEDGER, check_proof, kind_of
from foja.judge.report import Report, Subject
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status


@dataclass(frozen=True, slots=True)
class Detached:
    """One proof file; its name is for display, and tells the kind if the content does not."""

    data: bytes
    name: str | None = None

    @property
    def is_of_log(self) -> bool:
        """Whether it is an inclusion proof of a log, so that its subject must be an event."""
        return kind_of(self.data, self.name) == LEDGER

    @property
    def is_bundle(self) -> bool:
        """Whether it is a whole bundle, which holds its proofs."""
        return kind_of(self.data) == "container"


def judge_detached(
    subject: Subject,
    proofs: Sequence[Detached],
    trust: Trust,
    at: datetime,
    *,
    stated: bytes | None = None,
    content: BinaryIO | None = None,
    digests: Mapping[str, bytes] | None = None,
    domain: str | None = None,
) -> Report:
    """Return what these proofs show about the subject.

    `stated` is the digest that the subject must have, if given; `content` is the subject itself, if it may
    be an event or a history, of this `domain`; `digests` are its digests by other algorithms.
    """
    evidence = tuple(
        replace(_recorded(content, each.data, trust, domain), name=each.name)
        if each.is_of_log
        else _judge(subject, each, trust, at, digests or {})
        for each in proofs
    )
    if content and not proofs:
        evidence = _judge_history(content, trust, domain)
    return Report(subject, _check_stated(subject, stated) + evidence, at, trust.required, trust.document())


def _judge_history(content: BinaryIO, trust: Trust, domain: str | None) -> tuple[Finding, ...]:
    """A history without a proof is not evidence yet, but it may be invalid in itself."""
    from foja.judge.history import check_history
    from foja.judge.ledger import holds_history, read_chunks

    return (check_history(read_chunks(content), None, trust, domain),) if holds_history(content) else ()


def _check_stated(subject: Subject, stated: bytes | None) -> tuple[Finding, ...]:
    if stated is None or subject.sha256 is None or stated == subject.sha256:
        return ()
    detail = f"the file's SHA-256 is {subject.sha256.hex()}, not {stated.hex()} as stated"
    return (Finding("document", Status.INVALID, Reason.DIGEST_MISMATCH, detail),)


def _judge(
    subject: Subject, proof: Detached, trust: Trust, at: datetime, digests: Mapping[str, bytes]
) -> Finding:
    if subject.sha256 is None:
        detail = "no file and no digest was given that the proof could be about"
        return Finding("proof", Status.INDETERMINATE, Reason.DIGEST_MISMATCH, detail, name=proof.name)
    return check_proof(proof.data, subject.sha256, trust, at, name=proof.name, digests=digests)


def _recorded(content: BinaryIO | None, proof: bytes, trust: Trust, domain: str | None) -> Finding:
    from foja.judge.ledger import check_recorded  # imported late: judging timestamps does not need it

    if content is None:
        detail = "a log proof is about an event or a history; give the file of the event or history too"
        return Finding(LEDGER, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail)
    return check_recorded(content, proof, trust, domain)
