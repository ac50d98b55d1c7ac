"""`/`: what needs a person now, how the jobs of today went, the health of every part."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response

from foja.app import App
from foja.engine.health.service import LOG
from foja.engine.observe.overview import JobHour, Overview, read_criteria, read_job_hours, read_overview
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.charts import Bar, bars, line
from foja.interfaces.web.pages.frame.language import Texts
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.interfaces.web.pages.frame.times import moment, span
from foja.interfaces.web.pages.health import part_rows
from foja.pure.models.access.principal import Scope
from foja.pure.models.health.part import Part, State

HOURS: Final = 24
SLOW_QUEUE: Final = 60.0  # seconds that a job may wait for a worker before a person should know
CRITERIA: Final = Background[App, object](lambda app: read_criteria(app.reader), 60)


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for a person, in words, and the page where it is done."""

    text: str
    path: str
    tone: str = "warn"


async def show(page: Page) -> Response:
    """Show the overview. Nothing on it costs more with a million documents than with a thousand."""
    caller, app = page.caller, page.installation
    await app.health.check_database()
    overview, health = read_overview(app.reader, caller.principal.tenant), app.health.read()
    found, hours, parts = await asyncio.gather(overview, read_job_hours(caller.app.ledger), health)
    texts = page.texts("overview")
    firing = await _count_firing(caller)
    charted = [*_by_hour(hours, found.now)]
    return page.render(
        "overview.html",
        "overview",
        needs=[*_needs(found, firing, texts), *_broken(parts, texts)],
        health=[*part_rows(parts, texts, page.language, words=_is_operator(caller))],
        volume=bars([Bar(each.label, each.ended, each.failed) for each in charted], page.language),
        latency=line([(each.label, each.p95) for each in charted], page.language),
        hours=[each for each in charted if each.ended],
        criteria=await CRITERIA.wait(app) if caller.principal.installation else None,
    )


@dataclass(frozen=True, slots=True)
class _Hour:
    label: str
    ended: int = 0
    failed: int = 0
    p95: float | None = None


def _by_hour(found: Sequence[JobHour], now: datetime) -> Iterator[_Hour]:
    """Yield every hour of the last day, also those without a job."""
    by_hour = {each.hour: each for each in found}
    this = now.replace(minute=0, second=0, microsecond=0)
    for back in range(HOURS - 1, -1, -1):
        hour = this - timedelta(hours=back)
        label, each = f"{hour:%H:%M}", by_hour.get(hour)
        yield _Hour(label, each.ended, each.failed, each.p95_seconds) if each else _Hour(label)


async def _count_firing(caller: Caller) -> int:
    """Return how many alerts fire, for those who may see them."""
    if not _is_operator(caller):
        return 0
    states = (await caller.ctx.app.alerts.last()).states
    return len({state.alert for state in states if state.fired_at})


def _is_operator(caller: Caller) -> bool:
    return caller.principal.installation and caller.principal.may(Scope.OPERATE)


def _broken(parts: Sequence[Part], texts: Texts) -> Iterator[Need]:
    """Yield every part that fails; those that are paused or halted have a line of their own."""
    for part in parts:
        if part.state is State.FAILING and part.kind != LOG:
            name = texts.get(f"part_{part.kind}", part.kind)
            label = texts.get(f"use_{part.label}", part.label)
            since = moment(part.since, texts.language) if part.since else "–"
            text = texts("need_part", part=f"{name} {label}".strip(), since=since)
            yield Need(text, "/#health", "bad")


def _needs(found: Overview, firing: int, texts: Texts) -> Iterator[Need]:
    if firing:
        yield Need(texts("need_alerts", count=firing), "/alerts", "bad")
    if found.halted:
        yield Need(texts("need_halted", reason=found.halted), "/ledger", "bad")
    if found.dead_jobs:
        yield Need(texts("need_dead", count=_capped(found.dead_jobs)), "/jobs?state=dead", "bad")
    if found.failed_documents:
        count = _capped(found.failed_documents, 100)
        yield Need(texts("need_documents", count=count), "/documents?state=given_up", "bad")
    if found.approvals:
        yield Need(texts("need_approvals", count=_capped(found.approvals)), "/conversations")
    if found.oldest_ready_seconds > SLOW_QUEUE:
        yield Need(texts("need_workers", span=span(found.oldest_ready_seconds)), "/jobs?state=queued")
    for job_type in found.paused:
        yield Need(texts("need_paused", type=job_type), "/jobs")
    for network in found.held:
        yield Need(texts("need_held", network=network), "/anchors")


def _capped(count: int, most: int = 1000) -> str:
    return f"{most:,}+" if count > most else str(count)


PAGES = (PageRoute("GET /", show),)
