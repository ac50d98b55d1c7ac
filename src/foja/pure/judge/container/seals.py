"""C4: the outer tokens. Each covers everything before it; a newer one also covers the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from foja.pure.judge.container.files import Seal
from foja.pure.judge.existence import Proven, proven_by, with_time
from foja.pure.judge.terms import terms_of
from foja.pure.judge.trust import Trust
from foja.pure.proofs import ers, tsa
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.tsa.check import CLOCK_TOLERANCE

EVIDENCE = "seal"


def check_seals(
    seals: Sequence[Seal], trust: Trust, at: datetime, budget: Budget, anchored: Proven | None = None
) -> tuple[tuple[Finding, ...], Proven | None]:
    """Judge the newest token at `at`, and each older one at the time of the token that renewed it.

    `anchored` is a time by which the whole bundle existed. Return what the seals show, oldest first, and the
    earliest verified time by which nothing inside can have changed, or None.
    """
    findings: list[Finding] = []
    proven, newer = anchored, None
    for seal in reversed(seals):
        checked = _judge(seal, terms_of(trust, at, proven, budget))
        found = _finding(checked, seal)
        if newer and checked.stamp and checked.stamp.gen_time > newer + CLOCK_TOLERANCE:
            detail = "it is newer than the token that renews it"
            found = replace(found, status=Status.INVALID, reason=Reason.SEAL_ORDER, detail=detail)
        findings.insert(0, with_time(found, proven) if proven else found)
        newer = checked.stamp.gen_time if checked.stamp else newer
        if found.status is Status.VERIFIED and findings[-1].status is Status.VERIFIED:
            proven = proven_by(found, f"the time of {seal.path}, which covers it")
    return tuple(_with_renewals(findings)), proven


def _with_renewals(findings: Sequence[Finding]) -> list[Finding]:
    """Only the newest token covers the whole container; if it fails, the older ones do not count."""
    *older, newest = findings
    if newest.status is not Status.VERIFIED:
        but = "but a newer token over it is not verified"
        older = [each.weakened(Reason.RENEWAL_NOT_VERIFIED, but) for each in older]
    return [*older, newest]


def _judge(seal: Seal, terms: tsa.Terms) -> tsa.Checked:
    """Judge a token over the list, or an evidence record whose group is the list and the other files."""
    digest = sha256(seal.listed).digest()
    if not seal.group:
        return tsa.judge(seal.token, digest, terms)
    return ers.judge_strictly(seal.token, digest, terms, seal.group)


def _finding(checked: tsa.Checked, seal: Seal) -> Finding:
    """Return what a seal shows; only the bare token is accepted, so that it has one encoding."""
    if checked.stamp and not seal.group and checked.stamp.token != seal.token:
        detail = "it is not a bare TimeStampToken"
        return Finding(EVIDENCE, Status.INVALID, Reason.NON_CANONICAL, detail, name=seal.path)
    return replace(checked.finding, evidence=EVIDENCE, name=seal.path)
