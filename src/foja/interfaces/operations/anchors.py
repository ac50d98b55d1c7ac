"""What callers can do with the networks of an installation, which all tenants share."""

from __future__ import annotations

from typing import Annotated

from foja.engine.anchors.admin import Anchors
from foja.interfaces.answers.anchors import Disabled, Enabled, Flushed
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.pure.models.access.principal import Scope
from foja.pure.models.anchors.view import NetworkName

Network = Annotated[NetworkName, "polygon, bitcoin or rekor"]


async def flush(anchors: Anchors, network: Network) -> Flushed:
    """Send the digests that wait for a batch now, without waiting for more."""
    return Flushed(network, await anchors.flush(network))


async def enable(anchors: Anchors, network: Network) -> Enabled:
    """Check a network and let documents require it, unless something is missing; see what was found."""
    found = await anchors.enable(network)
    return Enabled(network, not found.missing, [*found.missing], found.found)


async def disable(anchors: Anchors, network: Network) -> Disabled:
    """Let no document require a network any more; attempts that are open go on."""
    changed = await anchors.disable(network)
    return Disabled(network, enabled=False, missing=[], found={}, changed=changed)


def _anchors(caller: Caller) -> Anchors:
    return caller.installation.anchors


ALL = "/v1/anchors"
OPERATIONS = (
    Operation(
        *("anchors.overview", f"GET {ALL}", Anchors.overview, Scope.OPERATE, _anchors, True),
        verb="anchors",
        examples="foja anchors\nfoja anchors enable bitcoin",
    ),
    Operation(
        *("anchors.list", f"GET {ALL}/batches", Anchors.list, Scope.OPERATE, _anchors, True),
        verb="anchors list",
        examples="foja anchors list\nfoja anchors list --network polygon --status sent --json",
    ),
    Operation(
        *("anchors.show", f"GET {ALL}/batches/{{batch_id}}", Anchors.show, Scope.OPERATE, _anchors, True),
        verb="anchors show",
        examples="foja anchors show 0190…-…",
    ),
    Operation(
        *("anchors.cost", f"GET {ALL}/costs", Anchors.cost, Scope.OPERATE, _anchors, True),
        verb="anchors cost",
        examples="foja anchors cost\nfoja anchors cost --network polygon --days 7",
    ),
    Operation(
        *("anchors.enable", f"POST {ALL}/{{network}}/enable", enable, Scope.ADMIN, _anchors, True),
        verb="anchors enable",
        examples="foja anchors enable polygon",
    ),
    Operation(
        *("anchors.disable", f"POST {ALL}/{{network}}/disable", disable, Scope.ADMIN, _anchors, True),
        verb="anchors disable",
        examples="foja anchors disable polygon",
    ),
    Operation(
        *("anchors.flush", f"POST {ALL}/{{network}}/flush", flush, Scope.OPERATE, _anchors, True),
        verb="anchors flush",
        examples="foja anchors flush polygon",
    ),
)
