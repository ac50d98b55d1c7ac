"""`foja anchors`, `enable`, `disable`, `flush`."""

from __future__ import annotations

from argparse import Namespace

from foja.anchors.admin import NetworkView
from foja.cli.anchors import words
from foja.cli.installation import open_installation
from foja.cli.output import print_result, table

HEAD = ("network", "enabled", "digests waiting", "batches pending", "spent in 24 h", "remark")
WIDTH = 70


async def overview(arguments: Namespace) -> int:
    """Print every network."""
    async with open_installation(arguments) as app:
        found = await app.anchors.overview()
    lines = table(HEAD, [_network_row(each) for each in found])
    print_result(arguments, [each.document() for each in found], *lines)
    return 0


async def enable(arguments: Namespace) -> int:
    """Check a network and let documents require it."""
    name = arguments.network
    async with open_installation(arguments) as app:
        ready = await app.anchors.enable(name)
    if ready.missing:
        lines = [f"{name} is not enabled: {'; '.join(ready.missing)}"]
    else:
        shown = words.found(ready.found)
        lines = [f"{name} is enabled" + (f": {shown}" if shown else "")]
    answer = {
        "network": name,
        "enabled": not ready.missing,
        "missing": [*ready.missing],
        "found": {**ready.found},
    }
    print_result(arguments, answer, *lines)
    return 1 if ready.missing else 0


async def disable(arguments: Namespace) -> int:
    """Let no document require a network any more."""
    async with open_installation(arguments) as app:
        changed = await app.anchors.disable(arguments.network)
    remark = "is disabled; attempts that are open go on" if changed else "was not enabled"
    print_result(arguments, {"network": arguments.network, "enabled": False}, f"{arguments.network} {remark}")
    return 0


async def flush(arguments: Namespace) -> int:
    """Send what waits for more digests."""
    async with open_installation(arguments) as app:
        waiting = await app.anchors.flush(arguments.network)
    line = f"{waiting} digests waited for others; a worker sends them now" if waiting else "no digest waits"
    print_result(arguments, {"network": arguments.network, "waiting": waiting}, line)
    return 0


def _network_row(each: NetworkView) -> tuple[object, ...]:
    remark = (
        "" if each.configured else f"not set up here: `foja anchors enable {each.network}` says what to set"
    )
    if each.held:
        remark = f"no batch is made: {each.held}"
    enabled = "yes" if each.enabled else "no"
    return (
        each.network,
        enabled,
        str(each.waiting),
        str(each.pending),
        words.amount(each.network, each.spent),
        words.remark(remark, WIDTH),
    )
