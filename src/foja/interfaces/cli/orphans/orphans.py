"""`foja orphans`: scan, list, purge, restore, report."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from foja.errors import SetupFailed
from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_result, progress_bar, table
from foja.pure.models.system.view import Candidate, OrphanReport, RunResult, RunRow

HEAD = ("path", "found", "last reference", "bytes", "state")
RUNS_HEAD = ("ended", "action", "outcome", "checked", "candidates", "missing", "deleted", "remark")


async def scan(arguments: Namespace) -> int:
    """Look for orphans, and print what was found."""
    with progress_bar("scanning") as bar:
        async with open_to_write(arguments, existing=True) as app:
            result = await app.orphans.scanner.scan(
                dry=arguments.dry_run, actor=arguments.actor, progress=bar
            )
    would = "would be staged" if result.dry else "staged"
    found = f"{result.staged:,} orphans and {result.strays:,} strays {would}"
    lines = [f"{result.checked:,} objects checked; {found}; {result.unstaged:,} candidates taken back"]
    lines += [f"missing in the store: {path}" for path in result.missing_objects]
    print_result(arguments, asdict(result), *_with_outcome(result, lines))
    return 1 if result.outcome == "aborted" or result.missing else 0


async def listing(arguments: Namespace) -> int:
    """Print the candidates."""
    async with open_installation(arguments) as app:
        found = await app.orphans.list(arguments.limit)
    lines = list(table(HEAD, [_row(each) for each in found])) if found else ["there are no candidates"]
    print_result(arguments, [asdict(each) for each in found], *lines)
    return 0


async def purge(arguments: Namespace) -> int:
    """Purge what is due, or one object."""
    if arguments.object:
        return await _purge_object(arguments)
    with progress_bar("purging") as bar:
        async with open_to_write(arguments, existing=True) as app:
            reason = {"reason": arguments.reason} if arguments.reason else {}
            result = await app.orphans.purger.purge(
                dry=arguments.dry_run, actor=arguments.actor, progress=bar, **reason
            )
    if result.dry:
        line = f"{result.quarantined:,} candidates are due and would be put in quarantine"
    else:
        line = (
            f"{result.quarantined:,} put in quarantine, {result.deleted:,} deleted ({result.bytes:,} bytes), "
            f"{result.unstaged:,} candidates taken back"
        )
    print_result(arguments, asdict(result), *_with_outcome(result, [line]))
    return 1 if result.outcome == "aborted" else 0


async def restore(arguments: Namespace) -> int:
    """Let an object be live again."""
    sha256 = arguments.object
    async with open_to_write(arguments, existing=True) as app:
        path = await app.orphans.purger.restore(sha256, reason=arguments.reason, actor=arguments.actor)
    print_result(arguments, {"restored": path}, f"{path} is live, and not a candidate any more")
    return 0


async def report(arguments: Namespace) -> int:
    """Print the state of orphans in the store."""
    async with open_installation(arguments) as app:
        found = await app.orphans.report()
    print_result(arguments, asdict(found), *_report_lines(found))
    return 0


async def _purge_object(arguments: Namespace) -> int:
    sha256 = arguments.object
    if not arguments.reason:
        raise SetupFailed("a purge of one object needs a reason: give it with --reason")
    if arguments.dry_run:
        raise SetupFailed("--dry-run counts what is due; leave it out with --object")
    async with open_to_write(arguments, existing=True) as app:
        paths = await app.orphans.purger.purge_object(sha256, reason=arguments.reason, actor=arguments.actor)
    print_result(arguments, {"deleted": list(paths)}, *(f"deleted {path}" for path in paths))
    return 0


def _with_outcome(result: RunResult, lines: list[str]) -> list[str]:
    return [*lines, f"aborted: {result.detail}"] if result.outcome == "aborted" else lines


def _row(each: Candidate) -> tuple[object, ...]:
    last = each.last_seen_reference.isoformat(timespec="seconds") if each.last_seen_reference else None
    return each.path, each.detected_at.isoformat(timespec="seconds"), last, each.size, each.state


def _report_lines(found: OrphanReport) -> list[str]:
    young = f"{found.lt_1d:,} under 1 day, {found.d1_3:,} up to 3 days"
    ages = f"{young}, {found.d3_7:,} up to 7, {found.gte_7d:,} older"
    going = f"due: {found.due:,}; in quarantine: {found.quarantined:,}"
    back = f"rescued {found.rescued_ratio:.1%}, false positives {found.false_positive_ratio:.1%}"
    armed = "armed" if found.armed else f"not armed ({found.armed_days} of {found.needed_days} good days)"
    lines = [
        f"objects: {found.objects:,}; candidates: {found.total_staged:,} ({ages})",
        f"{going}; deleted: {found.deleted:,} ({found.bytes:,} bytes)",
        f"taken back: {found.unstaged_ratio:.1%} ({back})",
        f"the automatic purge is {armed}",
    ]
    if found.brake:
        lines.append(f"a purge would be aborted: {found.brake}")
    return [*lines, *(table(RUNS_HEAD, [_run_row(each) for each in found.runs]) if found.runs else ())]


def _run_row(each: RunRow) -> tuple[object, ...]:
    ended = each.ended_at.isoformat(timespec="seconds")
    counts = (each.checked, each.candidates, each.missing, each.deleted)
    return ended, each.action, each.outcome, *counts, each.detail
