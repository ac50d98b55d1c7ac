"""`/anchors`: the networks, what they cost, and the batches that were sent to them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import Depends, Request, Response

from foja.app import App
from foja.engine.anchors.network import Readiness
from foja.engine.anchors.setup import missing_settings
from foja.errors import FojaError
from foja.interfaces.web.caller import Caller, needs
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import read_form, see_other
from foja.interfaces.web.pages.frame.page import Requested
from foja.interfaces.web.pages.texts.system.anchors import TEXTS, WORDS
from foja.pure.models.access.principal import Scope
from foja.pure.models.anchors.view import STATUSES

LIST_LIMIT: Final = 50
DAYS: Final = 30
TONES: Final = {"drafted": "info", "sent": "info", "confirmed": "good", "reorged": "warn", "refused": "bad"}
Steward = Annotated[Caller, Depends(needs(Scope.OPERATE, installation=True))]
routes = page_router(prefix="/anchors")


async def _check(app: App) -> dict[str, Readiness | str]:
    """Ask every network whether it can be used now: account, balance, node."""
    names = sorted(app.anchors.networks)
    found = await asyncio.gather(
        *(app.anchors.networks[each].check() for each in names), return_exceptions=True
    )
    return {
        name: each if isinstance(each, Readiness) else str(each)
        for name, each in zip(names, found, strict=True)
    }


CHECKS: Final = Background(_check, 30)


@routes.get("")
async def show(caller: Steward, page: Requested, status: str = "") -> Response:
    """Show networks, batches and costs. Nodes are asked beside the page."""
    app, anchors = caller.ctx.app, caller.ctx.app.anchors
    networks, words = await anchors.overview(), WORDS[page.language]
    chosen = next((each for each in STATUSES if each == status), None)
    batches = await anchors.list(status=chosen, limit=LIST_LIMIT)
    return page.render(
        "system/anchors.html",
        TEXTS,
        principal=caller.principal,
        networks=networks,
        missing={each.network: missing_settings(app.settings, each.network, words) for each in networks},
        checks=CHECKS.get(app) if anchors.networks else {},
        batches=batches,
        costs=await anchors.cost(days=DAYS),
        chosen=chosen,
        statuses=STATUSES,
        tones=TONES,
        Readiness=Readiness,
    )


@routes.post("/{network}/{verb}")
async def act(caller: Steward, request: Request, network: str, verb: str) -> Response:
    """Enable a network, disable it, or send what waits now."""
    await read_form(request)
    anchors = caller.ctx.app.anchors
    if verb == "flush":
        await anchors.flush(network)
    elif verb == "disable":
        await anchors.disable(network)
    else:
        found = await anchors.enable(network)
        if found.missing:
            raise FojaError(f"{network} cannot be enabled: {'; '.join(found.missing)}")
    return see_other("/anchors")
