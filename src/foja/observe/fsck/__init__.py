"""Everything derived again from the rows, at one moment, with the same memory for any history.

Bodies from payloads, chains from events, the tree from leaves; each compared with
what was recorded, signed, published, and kept outside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from foja.errors import Tampered
from foja.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.observe.fsck.context import CheckContext, Meter, Outside, Progress
from foja.observe.fsck.published import Claims, read_published
from foja.observe.fsck.stream import read_rules
from foja.observe.fsck.streams import check_streams
from foja.observe.fsck.tree import Claim, TreeCheck
from foja.observe.logs import LogState, read_logs
from foja.observe.snapshot import snapshot

__all__ = ["Outside", "Progress", "fsck"]

COUNTED = ("streams", "events", "leaves", "checkpoints")
_OLD_HEAD = re.compile("/([0-9]+)-([0-9a-f]{64})$")


async def fsck(
    url: str,
    outside: Outside,
    *,
    tiles: bool = False,
    most: int = MAX_SHOWN,
    progress: Progress | None = None,
) -> CheckReport:
    """Check all that is recorded; the report names the first event touched.

    `tiles` also compares every published file. The system may be as busy as it likes.
    """
    findings = Anomalies(most, counts=Counter(dict.fromkeys(COUNTED, 0)))
    # Leaves are durable before they are published, so a snapshot taken after this holds them.
    published = await read_published(url, outside, findings)
    async with snapshot(url) as moment:
        meter = Meter((await moment.row("fsck_total"))[0], progress)
        case = CheckContext(moment, outside, findings, meter)
        logs = await read_logs(moment)
        await check_streams(case, await read_rules(moment, logs))
        await _check_logs(case, logs, published, tiles=tiles)
        meter.end()
    return findings.report()


async def _check_logs(
    case: CheckContext, logs: Sequence[LogState], published: Claims, *, tiles: bool
) -> None:
    kept = _read_kept(case, logs)
    for log, successor in zip(logs, [*logs[1:], None], strict=True):
        seen = published.get(log.origin)
        if seen and log.closed_size is not None and seen.size > log.closed_size:
            seen = None  # the restart gave up what was published above that size
        named = _old_head(case, log, successor) if successor else None
        claims = [claim for claim in (seen, kept.get(log.origin), named) if claim]
        await TreeCheck(case, log, seen, tiles=tiles).run(claims)


def _read_kept(case: CheckContext, logs: Sequence[LogState]) -> Claims:
    """Return what the checkpoint kept outside says, under the log it is about."""
    if case.outside.kept is None:
        return {}
    who = "the checkpoint kept outside"
    try:
        kept = case.outside.open(case.outside.kept)
    except Tampered as error:
        case.findings.add("kept", expected=f"{who}, signed by this installation", found=str(error))
        return {}
    log = next((log for log in logs if log.name == kept.origin), None)
    if log is None:
        case.findings.add("kept", expected=f"the log {kept.origin}, says {who}", found="no log of this name")
        return {}
    if kept.size > log.proven:
        found = f"{log.proven} proven leaves; the rest was cut off"
        case.findings.add("kept", expected=f"{kept.size} leaves, says {who}", found=found)
        return {}
    return {log.origin: Claim(who, kept.size, kept.root)}


def _old_head(case: CheckContext, log: LogState, successor: LogState) -> Claim | None:
    """Return what the name of the next log says about the end of this one."""
    match = _OLD_HEAD.search(successor.name)
    if match is None or int(match[1]) != log.closed_size:
        expected = f"a name of log {successor.origin} that ends with {log.closed_size} and the root there"
        case.findings.add("log", expected=expected, found=successor.name)
        return None
    return Claim(f"the name of log {successor.origin}", int(match[1]), bytes.fromhex(match[2]))
