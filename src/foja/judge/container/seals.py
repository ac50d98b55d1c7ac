"""C4: the outer tokens. Each covers everything before it; a newer one also covers the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from foja.judge.container.files import Seal
from foja.judge.terms import terms_of
from foja.judge.trust import Trust
from foja.proofs import tsa
from foja.proofs.finding import Finding, Reason, Status
from foja.proofs.tsa.check import CLOCK_TOLERANCE

EVIDENCE = "seal"


@dataclass(frozen=True, slots=True)
class Sealed:
    """What the tokens show, oldest first, and the time since which nothing can have changed."""

    findings: tuple[Finding, ...]
    since: datetime | None  # None unless all tokens are verified


def check_seals(seals: Sequence[Seal], trust: Trust, at: datetime) -> Sealed:
    """Judge the newest token at `at`, and each older one at the time of the token that renewed it."""
    findings: list[Finding] = []
    moment, newer = at, None
    for seal in reversed(seals):
        checked = tsa.judge(seal.token, sha256(seal.listed).digest(), terms_of(trust, moment))
        found = _finding(checked, seal)
        if newer and checked.stamp and checked.stamp.gen_time > newer + CLOCK_TOLERANCE:
            detail = "it is newer than the token that renews it"
            found = replace(found, status=Status.INVALID, reason=Reason.SEAL_ORDER, detail=detail)
        findings.insert(0, found)
        newer = checked.stamp.gen_time if checked.stamp else newer
        moment = checked.stamp.gen_time if checked.stamp and checked.verified else at
    findings = _with_renewals(findings)
    verified = all(each.status is Status.VERIFIED for each in findings)
    return Sealed(tuple(findings), moment if verified else None)


def _with_renewals(findings: Sequence[Finding]) -> list[Finding]:
    """Only the newest token covers the whole container; if it fails, the older ones do not count."""
    *older, newest = findings
    if newest.status is Status.VERIFIED:
        return [*older, newest]
    return [_unrenewed(each) for each in older] + [newest]


def _unrenewed(finding: Finding) -> Finding:
    if finding.status is not Status.VERIFIED:
        return finding
    detail = f"{finding.detail}, but a newer token over it is not verified"
    return replace(
        finding,
        status=Status.INDETERMINATE,
        reason=Reason.RENEWAL_NOT_VERIFIED,
        detail=detail,
        no_later_than=None,
        according_to=None,
    )


def _finding(checked: tsa.Checked, seal: Seal) -> Finding:
    """Return what a seal shows; only the bare token is accepted, so that it has one encoding."""
    if checked.stamp and checked.stamp.token != seal.token:
        detail = "it is not a bare TimeStampToken"
        return Finding(EVIDENCE, Status.INVALID, Reason.NON_CANONICAL, detail, name=seal.path)
    return replace(checked.finding, evidence=EVIDENCE, name=seal.path)
