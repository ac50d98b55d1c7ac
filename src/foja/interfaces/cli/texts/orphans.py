"""What `foja orphans` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from foja.interfaces.answers.maintenance import CandidateList, CleanupReport, DeletedObjects, RestoredObject
from foja.interfaces.cli.output import table
from foja.pure.models.system.view import Candidate, RunResult, RunRow

HEAD = ("path", "found", "last reference", "bytes", "state")
RUNS_HEAD = ("ended", "action", "outcome", "checked", "candidates", "missing", "deleted", "remark")


def ran(result: RunResult, _: Namespace) -> Iterator[str]:
    """Yield what a scan found, or what a purge did."""
    if result.action == "scan":
        would = "would be staged" if result.dry else "staged"
        found = f"{result.staged:,} orphans and {result.strays:,} strays {would}"
        yield f"{result.checked:,} objects checked; {found}; {result.unstaged:,} candidates taken back"
        yield from (f"missing in the store: {path}" for path in result.missing_objects)
    elif result.dry:
        yield f"{result.quarantined:,} candidates are due and would be put in quarantine"
    else:
        deleted = f"{result.deleted:,} deleted ({result.bytes:,} bytes)"
        taken_back = f"{result.unstaged:,} candidates taken back"
        yield f"{result.quarantined:,} put in quarantine, {deleted}, {taken_back}"
    if result.outcome == "aborted":
        yield f"aborted: {result.detail}"


def candidates(found: CandidateList, _: Namespace) -> Iterator[str]:
    """Return a table of the candidates, oldest first."""
    return table(HEAD, [_row(each) for each in found], "there are no candidates")


def deleted(found: DeletedObjects, _: Namespace) -> Iterator[str]:
    """Yield what was deleted."""
    yield from (f"deleted {path}" for path in found.deleted)


def restored(found: RestoredObject, _: Namespace) -> Iterator[str]:
    """Yield what is live again."""
    yield f"{found.restored} is live, and not a candidate any more"


def report(found: CleanupReport, _: Namespace) -> Iterator[str]:
    """Yield the state of orphans in the store."""
    young = f"{found.lt_1d:,} under 1 day, {found.d1_3:,} up to 3 days"
    ages = f"{young}, {found.d3_7:,} up to 7, {found.gte_7d:,} older"
    yield f"objects: {found.objects:,}; candidates: {found.total_staged:,} ({ages})"
    going = f"due: {found.due:,}; in quarantine: {found.quarantined:,}"
    yield f"{going}; deleted: {found.deleted:,} ({found.bytes:,} bytes)"
    back = f"rescued {found.rescued_ratio:.1%}, false positives {found.false_positive_ratio:.1%}"
    yield f"taken back: {found.unstaged_ratio:.1%} ({back})"
    armed = "armed" if found.armed else f"not armed ({found.armed_days} of {found.needed_days} good days)"
    yield f"the automatic purge is {armed}"
    if found.brake:
        yield f"a purge would be aborted: {found.brake}"
    yield from table(RUNS_HEAD, [_run_row(each) for each in found.runs]) if found.runs else ()


def _row(each: Candidate) -> tuple[object, ...]:
    last = each.last_seen_reference.isoformat(timespec="seconds") if each.last_seen_reference else None
    return each.path, each.detected_at.isoformat(timespec="seconds"), last, each.size, each.state


def _run_row(each: RunRow) -> tuple[object, ...]:
    ended = each.ended_at.isoformat(timespec="seconds")
    counts = (each.checked, each.candidates, each.missing, each.deleted)
    return ended, each.action, each.outcome, *counts, each.detail
