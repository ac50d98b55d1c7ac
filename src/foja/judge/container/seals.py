"""C4: the outer tokens. Each stands for everything before it, and each newer one for the older ones."""

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

EVIDENCE = "seal"


@dataclass(frozen=True, slots=True)
class Sealed:
    """What the tokens show, oldest first, and since when nothing inside can have changed."""

    findings: tuple[Finding, ...]
    since: datetime | None  # None unless every one of them is verified


def check_seals(seals: Sequence[Seal], trust: Trust, at: datetime) -> Sealed:
    """Judge the newest token now, and each older one at the time of the next: that one renewed it."""
    findings: list[Finding] = []
    moment = at
    for seal in reversed(seals):
        checked = tsa.judge(seal.token, sha256(seal.listed).digest(), terms_of(trust, moment))
        findings.insert(0, _finding(checked, seal))
        moment = checked.stamp.gen_time if checked.stamp and checked.verified else at
    verified = all(each.status is Status.VERIFIED for each in findings)
    return Sealed(tuple(findings), moment if verified else None)


def _finding(checked: tsa.Checked, seal: Seal) -> Finding:
    """Say what a seal shows; it must be the bare token, so that there is one spelling of it."""
    if checked.stamp and checked.stamp.token != seal.token:
        detail = "it is not a bare TimeStampToken"
        return Finding(EVIDENCE, Status.INVALID, Reason.NON_CANONICAL, detail, name=seal.path)
    return replace(checked.finding, evidence=EVIDENCE, name=seal.path)
