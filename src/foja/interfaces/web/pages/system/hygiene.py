"""`/hygiene`: objects that nothing refers to, whether a purge may run and why; scan, purge, restore."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from foja.app import App
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.forms import act, see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.system.view import OrphanReport, RunResult

LIST_LIMIT: Final = 50


async def _report(app: App) -> OrphanReport:
    return await app.orphans.report()


REPORTS: Final = Background(_report, 0)  # all objects are counted for it


async def show(page: Page) -> Response:
    """Show the state of orphans in the store."""
    return await _page(page, await REPORTS.wait(page.installation), None)


async def _page(page: Page, report: OrphanReport | None, result: RunResult | None) -> Response:
    candidates = await page.installation.orphans.list(LIST_LIMIT)
    return page.render("system/hygiene.html", "hygiene", report=report, candidates=candidates, result=result)


async def scan(page: Page) -> Response:
    """Look for orphans; a dry run only counts them."""
    result = await act(page, "maintenance.cleanup")
    return await _page(page, await REPORTS.renew(page.installation), result)


async def purge(page: Page) -> Response:
    """Purge what is due; a dry run only counts it."""
    result = await act(page, "maintenance.purge")
    return await _page(page, await REPORTS.renew(page.installation), result)


async def restore(page: Page) -> Response:
    """Let a candidate be live again."""
    await act(page, "maintenance.restore")
    await REPORTS.renew(page.installation)
    return see_other("/hygiene", notice="restored")


PAGES = (
    PageRoute("GET /hygiene", show, Scope.CLEANUP, installation=True),
    PageRoute("POST /hygiene/scan", scan, Scope.CLEANUP, installation=True),
    PageRoute("POST /hygiene/purge", purge, Scope.PURGE, installation=True),
    PageRoute("POST /hygiene/restore", restore, Scope.PURGE, installation=True),
)
