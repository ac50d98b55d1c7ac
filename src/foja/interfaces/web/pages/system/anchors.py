"""`/anchors`: the networks, what they cost, and the batches that were sent to them."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import Response

from foja.app import App
from foja.engine.anchors.network import Readiness
from foja.engine.anchors.setup import Words, missing_settings
from foja.errors import Refused
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.forms import act, form, see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.anchors.view import STATUSES

LIST_LIMIT: Final = 50
DAYS: Final = 30
TONES: Final = {"drafted": "info", "sent": "info", "confirmed": "good", "reorged": "warn", "refused": "bad"}


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


async def show(page: Page, status: str = "") -> Response:
    """Show networks, batches and costs. Nodes are asked beside the page."""
    app, texts = page.installation, page.texts("anchors")
    anchors = app.anchors
    networks = await anchors.overview()
    words = Words(texts("settings_one_of"), texts("settings_with"), texts("settings_either"))
    chosen = next((each for each in STATUSES if each == status), None)
    batches = await anchors.list(status=chosen, limit=LIST_LIMIT)
    return page.render(
        "system/anchors.html",
        "anchors",
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


async def enable(page: Page) -> Response:
    """Enable a network, unless something is missing."""
    found = await act(page, "anchors.enable")
    if found.missing:
        raise Refused(f"{found.network} cannot be enabled: {'; '.join(found.missing)}")
    return see_other("/anchors")


PAGES = (
    PageRoute("GET /anchors", show, Scope.OPERATE, installation=True),
    PageRoute("POST /anchors/{network}/enable", enable, Scope.ADMIN, installation=True),
    form("/anchors/{network}/flush", "anchors.flush", "/anchors"),
    form("/anchors/{network}/disable", "anchors.disable", "/anchors"),
)
