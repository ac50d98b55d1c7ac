"""Quick checks of the ledger for an operator. A healthy system has no findings, even when busy.

`fsck` computes every hash again; the audit only counts and compares rows and times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.engine.observe.galleries import check_galleries
from foja.engine.observe.replay import LISTED, TRACKED, check_documents
from foja.engine.observe.snapshot import snapshot
from foja.pure.models.documents.events import Fact
from foja.pure.models.documents.tokens import find_fault

GRACE = 5.0
COUNTED = ("streams", "waiting", "open_slots")


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A query whose every row is a finding. The texts are formatted with the columns, by position."""

    check: str
    query: str
    expected: str
    found: str
    about_event: bool = field(default=True, kw_only=True)

    def report(self, row: tuple[Any, ...], findings: Anomalies) -> None:
        """Add one row to the findings."""
        entity_id, seq = row[:2] if self.about_event else (None, None)
        findings.add(
            self.check,
            expected=self.expected.format(*row),
            found=self.found.format(*row),
            entity_id=entity_id,
            seq=seq,
        )


QUERIES = (
    AuditQuery("end", "audit_ends", "{2} sealed and {3} given numbers, as in foja.entity", "{1} numbers"),
    AuditQuery("head", "audit_heads", "the head {2}, the last chain hash", "{3}"),
    AuditQuery("voided", "audit_voided", "{2} in foja.voided, as in the events", "{3}"),
    AuditQuery("slot", "audit_late_slots", "a slot voided at its deadline", "a slot open {2} s after it"),
    AuditQuery("lag", "audit_sealing", "sealing within the limit", "none after {2} s; is a worker running?"),
    AuditQuery("lag", "audit_numbering", "a leaf within the limit", "none after {2} s; is a worker running?"),
    AuditQuery(
        "lag", "audit_publishing", "a published checkpoint over leaf {3} within the limit", "none after {2} s"
    ),
    AuditQuery(
        "lag",
        "audit_signed",
        "a published checkpoint of {0} leaves",
        "one that is unpublished after {1} s",
        about_event=False,
    ),
    AuditQuery(
        "dead", "audit_dead_jobs", "an event about the end of a job", "none about the dead {3} job {2}"
    ),
    AuditQuery("lease", "audit_leases", "a valid lease", "the {3} job {2} running {4} s after its lease"),
    AuditQuery(
        "queue", "audit_waiting_jobs", "a {3} job claimed in time", "{2} waiting {4} s; is a worker running?"
    ),
    AuditQuery("clock", "audit_clocks", "{2} near the database's clock", "{3}, set by a clock ahead; {4}"),
    AuditQuery("queue", "audit_stuck_queues", "one {2} job at the head of its queue", "{4} among {3} jobs"),
    AuditQuery("executor", "audit_sleepers", "an executor queued for event {1}", "an executor that is {2}"),
    AuditQuery("job", "audit_waits_without_job", "{2}", "none; {3}"),
    AuditQuery("correlation", "audit_job_correlations", "a job that names its stream", "{2} naming {3}"),
    AuditQuery(LISTED, "audit_summaries_behind", "a list entry with it", "one of the first {2} events"),
    AuditQuery(TRACKED, "audit_tracked_others", "only documents in {2}", "a row of another stream"),
    AuditQuery("object", "audit_references", "{2}", "{3}"),
    AuditQuery("halted", "audit_halted", "a running log {0}", "halted: {1}", about_event=False),
    AuditQuery("log", "audit_leaves", "{1} leaves in the log {0}", "{2}", about_event=False),
    AuditQuery(
        "guard", "audit_guards", "the trigger {1} of foja.{0} always enabled", "{2}", about_event=False
    ),
)


async def audit(
    url: str, *, max_lag_seconds: float, clock_tolerance_seconds: float = 300.0, most: int = MAX_SHOWN
) -> CheckReport:
    """Run every query in one snapshot and return the first `most` findings."""
    limits = {"grace": GRACE, "limit": max_lag_seconds, "tolerance": clock_tolerance_seconds}
    findings = Anomalies(most)
    async with snapshot(url) as moment:
        counts = zip(COUNTED, await moment.row("audit_counts"), strict=True)
        findings.counts.update(dict(counts))
        await _check_steps(moment, findings)
        await _check_strays(moment, findings)
        for each in QUERIES:
            async for row in moment.rows(each.query, **limits):
                each.report(row, findings)
        await check_documents(moment, findings)
        await _check_tokens(moment, findings)
        await check_galleries(moment, findings)
    return findings.report()


async def _check_steps(moment: Snapshot, findings: Anomalies) -> None:
    async for entity_id, low, seq, distance in moment.rows("audit_steps", grace=GRACE):
        if distance == 0:
            found = f"more than one event with the number {seq}"
            findings.add("duplicate", expected="one", found=found, entity_id=entity_id, seq=seq)
        else:
            found = "none" if low == seq - 1 else f"none up to {seq - 1}"
            findings.add("gap", expected="an event or a slot", found=found, entity_id=entity_id, seq=low)


async def _check_tokens(moment: Snapshot, findings: Anomalies) -> None:
    """Judge the token of every confirmed timestamp, whatever anyone trusts."""
    async for entity_id, *event in moment.rows("audit_tokens"):
        fact = Fact(*event)
        if fault := find_fault(fact):
            expected = f"a timestamp of {fact.payload['witness_hash']}"
            found = f"{fault.reason}: {fault.detail}"
            findings.add("token", expected=expected, found=found, entity_id=entity_id, seq=fact.seq)


class Stray(NamedTuple):
    """An event that does not belong to its stream, and the domain and tenant of that."""

    entity_id: UUID
    seq: int
    kind: str
    v: int
    source: str
    tenant: str
    domain: str | None
    owner: str | None


async def _check_strays(moment: Snapshot, findings: Anomalies) -> None:
    async for row in moment.rows("audit_strays", Stray):
        expected, found = _explain_stray(row)
        findings.add("correlation", expected=expected, found=found, entity_id=row.entity_id, seq=row.seq)


def _explain_stray(row: Stray) -> tuple[str, str]:
    if row.domain is None:
        return "an event of a stream", "no stream with this id"
    if row.tenant != row.owner:
        return f"the tenant {row.owner!r} of its stream", repr(row.tenant)
    return f"a kind of {row.domain} and an allowed source", f"{row.kind} v{row.v} from {row.source}"
