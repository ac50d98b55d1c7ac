"""`/v1/anchors`: networks, batches and costs, which all tenants share."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Query, Response

from foja.access.model.principal import Scope
from foja.web.caller import Caller, needs
from foja.web.reference.answers.anchors import BatchItem, BatchPage, CostList, Enabled, Flushed, NetworkList
from foja.web.routers import api_router
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/anchors", "anchors")
NetworkOperator = Annotated[Caller, Depends(needs(Scope.OPERATE, installation=True))]
NetworkAdministrator = Annotated[Caller, Depends(needs(Scope.ADMIN, installation=True))]
Network = Literal["polygon", "bitcoin", "rekor"]
Status = Literal["drafted", "sent", "confirmed", "reorged", "refused"]


@routes.get("", response_model=NetworkList)
async def networks(caller: NetworkOperator) -> Response:
    """List the networks: whether each is enabled, what waits, and what was spent."""
    found = await caller.ctx.app.anchors.overview()
    return JsonAnswer({"networks": [each.document() for each in found]})


@routes.get("/batches", response_model=BatchPage)
async def batches(
    caller: NetworkOperator,
    network: Network | None = None,
    status: Status | None = None,
    before: Annotated[UUID | None, Query(description="the last id of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List batches, newest first; `next` is the address of older ones."""
    found = await caller.ctx.app.anchors.list(network=network, status=status, before=before, limit=limit)
    more = None
    if len(found) == limit:
        wanted = {"network": network, "status": status, "before": found[-1].id, "limit": limit}
        named = {name: each for name, each in wanted.items() if each is not None}
        more = f"/v1/anchors/batches?{urlencode(named)}"
    return JsonAnswer({"batches": [each.document() for each in found], "next": more})


@routes.get("/batches/{batch_id}", response_model=BatchItem)
async def batch(caller: NetworkOperator, batch_id: UUID) -> Response:
    """Return one batch as it stands."""
    return JsonAnswer((await caller.ctx.app.anchors.show(batch_id)).document())


@routes.get("/costs", response_model=CostList)
async def costs(
    caller: NetworkOperator,
    network: Network | None = None,
    days: Annotated[int, Query(ge=1, le=3660)] = 30,
) -> Response:
    """Return what batches cost, by day and network."""
    found = await caller.ctx.app.anchors.cost(network=network, days=days)
    return JsonAnswer({"costs": [each.document() for each in found]})


@routes.post("/{network}/flush", response_model=Flushed)
async def flush(caller: NetworkOperator, network: Network) -> Response:
    """Send what waits without waiting for more digests."""
    return JsonAnswer({"network": network, "jobs": await caller.ctx.app.anchors.flush(network)})


@routes.post("/{network}/enable", response_model=Enabled)
async def enable(caller: NetworkAdministrator, network: Network) -> Response:
    """Let documents require a network, unless something is missing; the answer says what was found."""
    found = await caller.ctx.app.anchors.enable(network)
    missing = list(found.missing)
    answer = {"network": network, "enabled": not missing, "missing": missing, "found": dict(found.found)}
    return JsonAnswer(answer)


@routes.post("/{network}/disable", response_model=Enabled)
async def disable(caller: NetworkAdministrator, network: Network) -> Response:
    """Let no document require a network any more. Open attempts go on."""
    await caller.ctx.app.anchors.disable(network)
    return JsonAnswer({"network": network, "enabled": False, "missing": [], "found": {}})
