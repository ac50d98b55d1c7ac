"""`/hygiene`: objects that nothing refers to, whether a purge may run and why; scan, purge, restore."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Request, Response

from foja.app import App
from foja.errors import Refused
from foja.interfaces.web.caller import Caller, needs
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import field, read_form, see_other
from foja.interfaces.web.pages.frame.page import Page, Requested
from foja.interfaces.web.pages.texts.system.hygiene import TEXTS
from foja.pure.core.registry import check_digest
from foja.pure.models.access.principal import Scope
from foja.pure.models.system.view import OrphanReport, RunResult

LIST_LIMIT: Final = 50
Cleaner = Annotated[Caller, Depends(needs(Scope.CLEANUP, installation=True))]
Purging = Annotated[Caller, Depends(needs(Scope.PURGE, installation=True))]
routes = page_router(prefix="/hygiene")


async def _report(app: App) -> OrphanReport:
    return await app.orphans.report()


REPORTS: Final = Background(_report, 0)  # all objects are counted for it


@routes.get("")
async def show(caller: Cleaner, page: Requested) -> Response:
    """Show the state of orphans in the store."""
    return await _page(caller, page, await REPORTS.wait(caller.ctx.app), None)


async def _page(
    caller: Caller, page: Page, report: OrphanReport | None, result: RunResult | None
) -> Response:
    return page.render(
        "system/hygiene.html",
        TEXTS,
        principal=caller.principal,
        report=report,
        candidates=await caller.ctx.app.orphans.list(LIST_LIMIT),
        result=result,
    )


@routes.post("/scan")
async def scan(caller: Cleaner, page: Requested, request: Request) -> Response:
    """Look for orphans; a dry run only counts them."""
    dry = field(await read_form(request), "dry") == "yes"
    result = await caller.ctx.app.orphans.scanner.scan(dry=dry, actor=caller.principal.actor)
    return await _page(caller, page, await REPORTS.renew(caller.ctx.app), result)


@routes.post("/purge")
async def purge(caller: Purging, page: Requested, request: Request) -> Response:
    """Purge what is due; a dry run only counts it."""
    dry = field(await read_form(request), "dry") == "yes"
    result = await caller.ctx.app.orphans.purger.purge(dry=dry, actor=caller.principal.actor)
    return await _page(caller, page, await REPORTS.renew(caller.ctx.app), result)


@routes.post("/restore")
async def restore(caller: Cleaner, request: Request) -> Response:
    """Let a candidate be live again."""
    form = await read_form(request)
    parts = field(form, "path").split("/")
    if len(parts) != 3:
        raise Refused("this is not the path of an object; choose one of the list")
    reason = field(form, "reason") or "restored on the page"
    await caller.ctx.app.orphans.purger.restore(
        check_digest(parts[1]), reason=reason, actor=caller.principal.actor
    )
    await REPORTS.renew(caller.ctx.app)
    return see_other("/hygiene", notice="restored")
