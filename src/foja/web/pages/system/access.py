"""`/access`: who you are, and what each scope allows."""

from __future__ import annotations

from fastapi import Response

from foja.access.model.principal import Scope
from foja.web.caller import Administrator
from foja.web.pages.frame.errors import page_router
from foja.web.pages.frame.rendering import Requested
from foja.web.pages.texts.system.access import TEXTS

routes = page_router(prefix="/access")


@routes.get("")
async def show(caller: Administrator, page: Requested) -> Response:
    """Show the caller, and what each scope allows."""
    return page.render("system/access.html", TEXTS, principal=caller.principal, scopes=[*Scope])
