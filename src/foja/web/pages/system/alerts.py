"""`/alerts`: the conditions that a person should know of, whether each holds now, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import Response

from foja.observe.overview import Overview, read_overview
from foja.web.caller import Operator
from foja.web.pages.frame.errors import page_router
from foja.web.pages.frame.page import Requested
from foja.web.pages.frame.times import span
from foja.web.pages.overview import SLOW_QUEUE
from foja.web.pages.texts.system.alerts import TEXTS

routes = page_router(prefix="/alerts")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: its name in the table of texts, its value, whether it holds, and where to act."""

    name: str
    value: str
    firing: bool
    path: str


@routes.get("")
async def show(caller: Operator, page: Requested) -> Response:
    """Show every condition, those that hold first."""
    found = await read_overview(caller.ctx.app.sweeper, caller.principal.tenant)
    conditions = sorted(_conditions(found), key=lambda each: not each.firing)
    return page.render("system/alerts.html", TEXTS, principal=caller.principal, conditions=conditions)


def _conditions(found: Overview) -> Iterator[Condition]:
    yield Condition("halted", found.halted or "", found.halted is not None, "/ledger")
    yield Condition("dead_jobs", str(found.dead_jobs), found.dead_jobs > 0, "/jobs?state=dead")
    stuck = found.failed_documents
    yield Condition("stuck_documents", str(stuck), stuck > 0, "/documents?state=given_up")
    age = found.oldest_ready_seconds
    yield Condition("queue", span(age), age > SLOW_QUEUE, "/jobs?state=queued")
    yield Condition("held", ", ".join(found.held), bool(found.held), "/anchors")
    yield Condition("paused", ", ".join(found.paused), bool(found.paused), "/jobs")
