"""`/alerts`: what needs a person now, every alert of the installation with its state, and the runbooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from foja.app import App
from foja.domains.alerts.assembly import RUNBOOKS
from foja.domains.alerts.runbook_files import read_runbook
from foja.domains.alerts.service import AlertView
from foja.engine.observe.overview import Overview, read_overview
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.interfaces.web.pages.frame.times import span
from foja.interfaces.web.pages.overview import SLOW_QUEUE
from foja.interfaces.web.pages.system.alert_rows import TONES, alert_groups, alert_row, amount, is_current
from foja.interfaces.web.pages.system.runbook import runbook_markup
from foja.pure.models.access.principal import Scope
from foja.pure.models.alerts.table import ALERTS

NOTICES: Final = 20
PLACES: Final = ("alerts", "alert_summaries")


async def _views(app: App) -> dict[str, AlertView]:
    return {view.alert.name: view for view in await app.alerts.views()}


VIEWS: Final = Background(_views, 2)  # all metrics are read for it: seconds, if there are millions of rows


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: its name in the table of texts, its value, whether it holds, and where to act."""

    name: str
    value: str
    firing: bool
    path: str


async def show(page: Page) -> Response:
    """Show what is wrong for this tenant, and to the operators of the installation all its alerts."""
    caller, app = page.caller, page.installation
    found = await read_overview(app.reader, caller.principal.tenant)
    conditions = sorted(_conditions(found), key=lambda each: not each.firing)
    values: dict[str, Any] = {
        "conditions": conditions,
        "tables": {},
        "firing": [],
        "notices": [],
        "evaluation": None,
    }
    if caller.principal.installation:
        values |= await _alerts(app)
    return page.render(
        "system/alerts.html",
        *PLACES,
        tones=TONES,
        amount=amount,
        alerts=ALERTS,
        runbooks=_published(app),
        **values,
    )


async def show_runbook(page: Page, name: str) -> Response:
    """Show one alert with its runbook."""
    if name not in ALERTS:
        raise HTTPException(404, f"there is no alert {name!r}; the page of alerts lists all of them")
    app, alert = page.installation, ALERTS[name]
    text = read_runbook(alert, page.language)
    row = alert_row(
        alert, app.alerts.limits[name], await app.alerts.last(), await VIEWS.wait(app), app.alerts.seconds
    )
    return page.render(
        "system/alert.html",
        *PLACES,
        row=row,
        tones=TONES,
        amount=amount,
        runbook=runbook_markup(text) if text else None,
        runbooks=_published(app),
    )


async def _alerts(app: App) -> dict[str, Any]:
    evaluation = await app.alerts.last()
    tables = alert_groups(app.alerts.limits, evaluation, await VIEWS.wait(app), app.alerts.seconds)
    return {
        "tables": tables,
        "firing": [row for rows in tables.values() for row in rows if row.state == "firing"],
        "evaluation": evaluation,
        "current": is_current(evaluation, app.alerts.seconds),
        "read": VIEWS.last(app) is not None,
        "notices": [each for each in await app.alerts.history(NOTICES) if each.alert in ALERTS],
    }


def _published(app: App) -> str:
    """Return where the operators published the runbooks; empty: only here."""
    return app.alerts.runbooks if app.alerts.runbooks != RUNBOOKS else ""


def _conditions(found: Overview) -> Iterator[Condition]:
    yield Condition("halted", found.halted or "", found.halted is not None, "/ledger")
    yield Condition("dead_jobs", str(found.dead_jobs), found.dead_jobs > 0, "/jobs?state=dead")
    stuck = found.failed_documents
    yield Condition("stuck_documents", str(stuck), stuck > 0, "/documents?state=given_up")
    age = found.oldest_ready_seconds
    yield Condition("queue", span(age), age > SLOW_QUEUE, "/jobs?state=queued")
    yield Condition("held", _joined(found.held), bool(found.held), "/anchors")
    yield Condition("paused", _joined(found.paused), bool(found.paused), "/jobs")


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names)


PAGES = (
    PageRoute("GET /alerts", show, Scope.OPERATE),
    PageRoute("GET /alerts/{name}", show_runbook, Scope.OPERATE, installation=True),
)
