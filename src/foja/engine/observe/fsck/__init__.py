"""Derive everything again from the rows of one snapshot, in constant memory.

It computes bodies from payloads, chains from events and the tree from leaves. It compares
them with what was recorded, signed and published, and with a checkpoint kept outside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from foja.engine.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.engine.observe.fsck.anchors import check_anchors
from foja.engine.observe.fsck.context import (
    CheckContext,
    Claim,
    Claims,
    Meter,
    Outside,
    Progress,
    read_published,
)
from foja.engine.observe.fsck.cosignatures import check_cosignatures
from foja.engine.observe.fsck.stream import read_rules
from foja.engine.observe.fsck.streams import check_streams
from foja.engine.observe.fsck.tree import TreeCheck
from foja.engine.observe.logs import LogState, read_logs
from foja.engine.observe.snapshot import snapshot
from foja.errors import Tampered

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
    """Check everything that is recorded. The report names the first event that was changed.

    `tiles` also compares every published file. The system may be busy meanwhile.
    """
    findings = Anomalies(most, counts=Counter(dict.fromkeys(COUNTED, 0)))
    # Leaves are durable before they are published, so a later snapshot contains them.
    published = await read_published(url, outside, findings)
    async with snapshot(url) as moment:
        meter = Meter((await moment.row("fsck_total"))[0], progress)
        context = CheckContext(moment, outside, findings, meter)
        logs = await read_logs(moment)
        await check_streams(context, await read_rules(moment, logs))
        await _check_logs(context, logs, published, tiles=tiles)
        await check_cosignatures(context)
        await check_anchors(context)
        meter.end()
    return findings.report()


async def _check_logs(
    context: CheckContext, logs: Sequence[LogState], published: Claims, *, tiles: bool
) -> None:
    external = _read_external(context, logs)
    for log, successor in zip_longest(logs, logs[1:]):
        seen = published.get(log.origin)
        if seen and log.closed_size is not None and seen.size > log.closed_size:
            seen = None  # the restart discarded what was published above that size
        named = _old_head(context, log, successor) if successor else None
        claims = [claim for claim in (seen, external.get(log.origin), named) if claim]
        await TreeCheck(context, log, seen, tiles=tiles).run(claims)


def _read_external(context: CheckContext, logs: Sequence[LogState]) -> Claims:
    """Return the claim of the checkpoint kept outside, by the origin of its log."""
    if context.outside.external is None:
        return {}
    who = "the checkpoint kept outside"
    try:
        external = context.outside.open(context.outside.external)
    except Tampered as error:
        context.findings.add("kept", expected=f"{who}, signed by this installation", found=str(error))
        return {}
    log = next((log for log in logs if log.name == external.origin), None)
    if log is None:
        expected = f"the log {external.origin}, according to {who}"
        context.findings.add("kept", expected=expected, found="no log with this name")
        return {}
    if external.size > log.proven:
        found = f"{log.proven} proven leaves; the rest was removed"
        context.findings.add("kept", expected=f"{external.size} leaves, according to {who}", found=found)
        return {}
    return {log.origin: Claim(who, external.size, external.root)}


def _old_head(context: CheckContext, log: LogState, successor: LogState) -> Claim | None:
    """Return the claim in the name of the next log about the end of this one.

    A log without entries has no end of its own: the next name repeats the claim about the one before it.
    """
    match, repeated = _OLD_HEAD.search(successor.name), _OLD_HEAD.search(log.name)
    if match and repeated and log.closed_size == 0 and match[0] == repeated[0]:
        return None
    if match is None or int(match[1]) != log.closed_size:
        expected = f"a name of log {successor.origin} that ends with the size {log.closed_size} and its root"
        context.findings.add("log", expected=expected, found=successor.name)
        return None
    return Claim(f"the name of log {successor.origin}", int(match[1]), bytes.fromhex(match[2]))
