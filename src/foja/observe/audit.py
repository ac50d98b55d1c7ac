"""Is the ledger well? Quick questions for an operator; a healthy busy system answers none of them.

`fsck` derives every hash again; this only counts, compares and looks at the clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foja.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.observe.replay import LISTED, TRACKED, check_documents
from foja.observe.snapshot import Row, Snapshot, snapshot

GRACE = 5.0


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A query whose every row is a finding; the words take its columns by position."""

    check: str
    query: str
    expected: str
    found: str
    about_event: bool = field(default=True, kw_only=True)

    def ask(self, row: Row, findings: Anomalies) -> None:
        """Take note of one row."""
        entity_id, seq = row[:2] if self.about_event else (None, None)
        findings.add(
            self.check,
            expected=self.expected.format(*row),
            found=self.found.format(*row),
            entity_id=entity_id,
            seq=seq,
        )


QUESTIONS = (
    AuditQuery("end", "audit_ends", "{2} sealed and {3} given numbers, says its stream", "{1} recorded ones"),
    AuditQuery("head", "audit_heads", "the head {2}, its last chain hash", "{3}"),
    AuditQuery("slot", "audit_late_slots", "a slot voided at its deadline", "one still open after {2} s"),
    AuditQuery("lag", "audit_sealing", "sealing within the limit", "{2} s without it; is a worker running?"),
    AuditQuery(
        "lag", "audit_numbering", "a place in the log within the limit", "{2} s without; is a worker running?"
    ),
    AuditQuery(
        "lag", "audit_publishing", "a published checkpoint over leaf {3} within the limit", "none after {2} s"
    ),
    AuditQuery(
        "lag",
        "audit_signed",
        "the checkpoint of {0} leaves published",
        "it unpublished after {1} s",
        about_event=False,
    ),
    AuditQuery(
        "dead", "audit_dead_jobs", "an end that the stream knows of", "the {3} {2} dead, and nothing said"
    ),
    AuditQuery(
        "lease", "audit_leases", "a lease extended or taken over", "the {3} {2} running {4} s past it"
    ),
    AuditQuery(
        "queue", "audit_waiting_jobs", "a {3} claimed within the limit", "{2} waiting for {4} s; who works?"
    ),
    AuditQuery(
        "queue", "audit_stuck_lines", "one {2} that can be claimed", "{3} in line and none of them first"
    ),
    AuditQuery("executor", "audit_sleepers", "its executor queued since event {1}", "it {2}"),
    AuditQuery("correlation", "audit_job_correlations", "jobs that name their stream", "{2} naming {3}"),
    AuditQuery(LISTED, "audit_summaries_behind", "a list entry that knows it", "one of the first {2} events"),
    AuditQuery(TRACKED, "audit_tracked_strangers", "nothing in {2} about what is no document", "a row"),
    AuditQuery("halted", "audit_halted", "the log {0} going on", "it halted: {1}", about_event=False),
    AuditQuery("log", "audit_leaves", "{1} leaves in the log {0}", "{2}", about_event=False),
    AuditQuery(
        "guard", "audit_guards", "the trigger {1} of foja.{0} on for everybody", "{2}", about_event=False
    ),
)


async def audit(url: str, *, max_lag_seconds: float, most: int = MAX_SHOWN) -> CheckReport:
    """Ask every question at one moment and return what was answered."""
    findings = Anomalies(most)
    async with snapshot(url) as moment:
        await _count(moment, findings)
        await _check_steps(moment, findings)
        await _check_strays(moment, findings)
        for question in QUESTIONS:
            async for row in moment.rows(question.query, grace=GRACE, limit=max_lag_seconds):
                question.ask(row, findings)
        await check_documents(moment, findings)
    return findings.report()


async def _count(moment: Snapshot, findings: Anomalies) -> None:
    names = ("streams", "waiting", "open_slots")
    findings.counts.update(dict(zip(names, await moment.row("audit_counts"), strict=True)))


async def _check_steps(moment: Snapshot, findings: Anomalies) -> None:
    async for entity_id, low, seq, distance in moment.rows("audit_steps", grace=GRACE):
        if distance == 0:
            found = f"more than one event with the number {seq}"
            findings.add("duplicate", expected="one", found=found, entity_id=entity_id, seq=seq)
        else:
            found = "none" if low == seq - 1 else f"none up to {seq - 1}"
            findings.add("gap", expected="an event or a slot", found=found, entity_id=entity_id, seq=low)


async def _check_strays(moment: Snapshot, findings: Anomalies) -> None:
    async for row in moment.rows("audit_strays"):
        expected, found = _explain_stray(*row[2:])
        findings.add("correlation", expected=expected, found=found, entity_id=row[0], seq=row[1])


def _explain_stray(
    kind: str, v: int, source: str, tenant: str, domain: str | None, owner: str | None
) -> tuple[str, str]:
    if domain is None:
        return "an event of a stream", "no stream of this id"
    if tenant != owner:
        return f"the tenant {owner!r} of its stream", repr(tenant)
    return f"a kind of {domain} and a source that may say it", f"{kind} v{v} said by {source}"
