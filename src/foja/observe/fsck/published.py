"""Read the published checkpoint of every log."""

from __future__ import annotations

from collections.abc import Mapping

from foja.errors import ObjectMissing, Tampered
from foja.observe.findings import Anomalies
from foja.observe.fsck.context import Outside
from foja.observe.fsck.tree import Claim
from foja.observe.logs import LogState, read_logs
from foja.observe.snapshot import snapshot

Claims = Mapping[int, Claim]


async def read_published(url: str, outside: Outside, findings: Anomalies) -> Claims:
    """Return the published checkpoint of every log, by its origin."""
    async with snapshot(url) as moment:
        logs = await read_logs(moment)
    claims = [(log.origin, await _read_checkpoint(log, outside, findings)) for log in logs]
    return {origin: claim for origin, claim in claims if claim}


async def _read_checkpoint(log: LogState, outside: Outside, findings: Anomalies) -> Claim | None:
    try:
        seen = outside.open((await outside.store.read(log.path("checkpoint"))).data)
    except ObjectMissing:
        if log.published is not None:
            findings.add(
                "checkpoint", expected=f"a published checkpoint of {log.name}", found="none in the store"
            )
        return None
    except Tampered as error:
        findings.add("checkpoint", expected=f"the published checkpoint of {log.name}", found=str(error))
        return None
    if seen.origin != log.name:
        findings.add(
            "checkpoint", expected=f"a published checkpoint of {log.name}", found=f"one of {seen.origin}"
        )
    return Claim("the published checkpoint", seen.size, seen.root)
