"""Proof of existence: verified times by which something existed, and what shows them (EN 319 102-1, 5.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from foja.pure.proofs.finding import Finding, Status, TrustItem
from foja.pure.quotation import quoted

SKEWS = {"bitcoin": timedelta(hours=2)}  # how far a clock may be off; Bitcoin itself allows so much


class Proven(NamedTuple):
    """A verified time by which something existed."""

    at: datetime
    by: str  # what shows it, as a part of a remark
    rests_on: tuple[TrustItem, ...] = ()  # what you trust for it, if no other finding names it


def proven_by(finding: Finding, by: str) -> Proven:
    """Return the time that a verified finding proves."""
    assert finding.no_later_than is not None
    return Proven(finding.no_later_than, by)


def earliest_of(findings: Iterable[Finding]) -> Proven | None:
    """Return the earliest time that proofs over a whole file show to others; a miner's clock may be late."""
    found = [
        Proven(
            each.no_later_than + SKEWS.get(each.evidence, timedelta()),
            f"the time of {quoted(each.name) if each.name else 'the proof beside it'}, which covers it",
        )
        for each in findings
        if each.status is Status.VERIFIED and each.no_later_than and not each.reserved
    ]
    return min(found, default=None)


def with_time(finding: Finding, proven: Proven) -> Finding:
    """Return a finding that says as of which time it was judged, and what shows that time."""
    remark = f"judged as of {proven.at:%Y-%m-%dT%H:%M:%SZ}: {proven.by}"
    more = proven.rests_on if finding.rests_on else ()
    rests_on = tuple(dict.fromkeys((*finding.rests_on, *more)))
    return replace(finding, remarks=(remark, *finding.remarks), rests_on=rests_on)
