"""Judge a file, or only its digest, with proofs in separate files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from io import SEEK_END
from typing import BinaryIO

from foja.pure.judge.proof import BLINDING, LEDGER, MONITOR, SNIFF_BYTES, ProofRequest, check_proof, kind_of
from foja.pure.judge.report import Report, Subject
from foja.pure.judge.trust import Trust
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status

MAX_PROOFS = 256  # beside one file
_UNIT_BYTES = 4096  # of an event or a history are read in the time of one unit of the budget
_UNIT_LINES = 8  # of a log proof


@dataclass(frozen=True, slots=True)
class Detached:
    """One proof file; its name is for display, and tells the kind if the content does not."""

    data: bytes
    name: str | None = None
    bundle: BinaryIO | None = None  # a bundle of any size, read in pieces; `data` is only its beginning

    @property
    def is_bundle(self) -> bool:
        """Whether it is a whole bundle, which holds its proofs."""
        return kind_of(self.data, self.name) == "container"


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
    budget = Budget()
    blindings, others = _split(proofs)
    statements, others = split_statements(others)
    evidence = tuple[Finding, ...]()
    read = False  # whether the content was read for a log proof before
    for each in others:
        if kind_of(each.data, each.name) == LEDGER:
            if read and content and (costly := _read_again(content, each.data, budget)):
                evidence += (replace(costly, name=each.name),)
                continue
            read = True
            found, *monitors = _recorded(content, each.data, trust, at, domain, statements)
            evidence += (found if each.name is None else replace(found, name=each.name), *monitors)
        else:
            group = _group(each.data, blindings)
            evidence += (_judge(subject, each, trust, at, digests or {}, budget, group),)
    evidence += tuple(_strays(blindings, others))
    if statements and not any(each.evidence == LEDGER for each in evidence):
        evidence += (*_alone(statements),)
    if content and not proofs:
        evidence = _judge_alone(content, subject.name, trust, domain)
    elif content and not any(each.contents for each in evidence):  # an event or a history is no checkpoint
        evidence = _with_note(evidence, content, trust)
    return Report(subject, _check_stated(subject, stated) + evidence, at, trust.required, trust.document())


def _read_again(content: BinaryIO, proof: bytes, budget: Budget) -> Finding | None:
    """Take what one more log proof of this content costs, or return the finding that it is too much."""
    lines = proof.count(b"\n")  # many of them may be signatures
    try:
        budget.spend(1 + content.seek(0, SEEK_END) // _UNIT_BYTES + lines // _UNIT_LINES)
    except Flaw as flaw:
        return flaw.finding(LEDGER)
    return None


def limit_proofs(proofs: Sequence[Detached]) -> tuple[list[Detached], tuple[Finding, ...]]:
    """Return the proofs that are judged, and a finding if there are more."""
    if len(proofs) <= MAX_PROOFS:
        return [*proofs], ()
    detail = f"only the first {MAX_PROOFS} proofs were judged; judge the others by themselves"
    return [*proofs[:MAX_PROOFS]], (Finding("proof", Status.INDETERMINATE, Reason.TOO_COSTLY, detail),)


def _with_note(evidence: tuple[Finding, ...], content: BinaryIO, trust: Trust) -> tuple[Finding, ...]:
    """Say of a checkpoint whether its log signed it, beside what proofs over its bytes show."""
    from foja.pure.judge.inclusion import check_note  # imported late: judging timestamps does not need it

    signed, open_ = check_note(content, trust)
    found = [replace(each, not_checked=each.not_checked + open_) for each in evidence]
    return (*found, signed) if signed else tuple(found)


def _judge_alone(
    content: BinaryIO, name: str | None, trust: Trust, domain: str | None
) -> tuple[Finding, ...]:
    """Judge a file without a proof: a history may be invalid in itself, no other file is evidence alone."""
    from foja.pure.judge.history import check_history, holds_history, read_chunks

    if holds_history(content):
        return check_history(read_chunks(content), None, trust, domain)
    content.seek(0)
    kind = kind_of(content.read(SNIFF_BYTES), name)
    if kind == "container":
        from foja.pure.core.bundle.foreign import describe  # imported late: few files are of this kind

        detail = describe(content)
    elif kind:
        detail = "a proof without the file that it is about; give that file, and this one with --proof"
    else:
        detail = "neither a bundle nor a history, and no proof was given; give its proof with --proof"
    return (Finding(kind or "document", Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail),)


def _check_stated(subject: Subject, stated: bytes | None) -> tuple[Finding, ...]:
    if stated is None or subject.sha256 is None or stated == subject.sha256:
        return ()
    detail = f"the file's SHA-256 is {subject.sha256.hex()}, not {stated.hex()} as stated"
    return (Finding("document", Status.INVALID, Reason.DIGEST_MISMATCH, detail),)


def _judge(
    subject: Subject,
    proof: Detached,
    trust: Trust,
    at: datetime,
    digests: Mapping[str, bytes],
    budget: Budget,
    group: frozenset[bytes] | None,
) -> Finding:
    if subject.sha256 is None:
        detail = "no file and no digest was given that the proof could be about"
        return Finding("proof", Status.INDETERMINATE, Reason.DIGEST_MISMATCH, detail, name=proof.name)
    request = ProofRequest(subject.sha256, trust, at, digests=digests, group=group, budget=budget)
    return check_proof(proof.data, request, name=proof.name)


def _split(proofs: Sequence[Detached]) -> tuple[Mapping[bytes, str | None], list[Detached]]:
    """Return the digests and names of the blinding files, and the other files: proofs."""
    others = [each for each in proofs if kind_of(each.data, each.name) != BLINDING]
    blindings = [each for each in proofs if kind_of(each.data, each.name) == BLINDING]
    return {sha256(each.data).digest(): each.name for each in blindings}, others


def _group(proof: bytes, blindings: Mapping[bytes, str | None]) -> frozenset[bytes] | None:
    """Return the blinding files that an evidence record is about, or None if none of them was given."""
    if not blindings:
        return None
    from foja.pure.proofs.ers import members  # imported late: most proofs are not evidence records

    return members(proof) & blindings.keys() or None


def _strays(blindings: Mapping[bytes, str | None], proofs: Sequence[Detached]) -> Iterator[Finding]:
    used = frozenset[bytes]().union(*(_group(each.data, blindings) or () for each in proofs))
    for digest, name in blindings.items():
        if digest not in used:
            detail = "no evidence record beside it is about this blinding file; give its record too"
            yield Finding("proof", Status.INVALID, Reason.GROUP_MISMATCH, detail, name=name)


def split_statements(proofs: Sequence[Detached]) -> tuple[list[Detached], list[Detached]]:
    """Return the statements of monitors, and the other files."""
    statements = [each for each in proofs if kind_of(each.data, each.name) == MONITOR]
    return statements, [each for each in proofs if each not in statements]


def _recorded(
    content: BinaryIO | None,
    proof: bytes,
    trust: Trust,
    at: datetime,
    domain: str | None,
    statements: Sequence[Detached],
) -> tuple[Finding, ...]:
    from foja.pure.judge.history import check_recorded  # imported late: judging timestamps does not need it

    if content is None:
        detail = "a log proof is about an event or a history; give the file of the event or history too"
        unread = Finding(LEDGER, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail)
        return unread, *_alone(statements)
    return check_recorded(content, proof, trust, at, domain, statements)


def _alone(statements: Sequence[Detached]) -> list[Finding]:
    from foja.pure.judge.others.monitors import alone  # imported late: it needs this module

    return [*map(alone, statements)]
