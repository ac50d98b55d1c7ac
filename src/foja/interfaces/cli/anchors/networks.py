"""What `foja anchors` and `enable` print; `disable` and `flush`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from foja.interfaces.answers.anchors import Enabled
from foja.interfaces.cli.anchors import words
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_result, table
from foja.pure.models.anchors.view import NetworkList, NetworkView

HEAD = ("network", "enabled", "digests waiting", "batches pending", "spent in 24 h", "remark")
WIDTH = 70


def overview(found: NetworkList, _: str) -> Iterator[str]:
    """Yield a table of every network."""
    return table(HEAD, [_network_row(each) for each in found])


def enabled(found: Enabled, _: str) -> Iterator[str]:
    """Yield whether a network is enabled, and what is missing or was found."""
    if found.missing:
        yield f"{found.network} is not enabled: {'; '.join(found.missing)}"
    else:
        shown = words.found(found.found)
        yield f"{found.network} is enabled" + (f": {shown}" if shown else "")


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
