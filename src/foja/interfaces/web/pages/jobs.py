"""`/jobs`: jobs by state, type and stream; retry, cancel, also all that a filter shows; pause a type."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from foja.engine.observe.overview import NEWEST_OF_TYPE, JobFilter, count_jobs, find_jobs, read_job_types
from foja.errors import Refused
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.pages.frame.forms import act, field, form, read_form, see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.jobs.view import STATES, ChangedJobs, JobView

LIST_LIMIT: Final = 50
BULK_LIMIT: Final = 500  # jobs at once; the rest follows with the next click
TONES: Final = {
    "queued": "info",
    "running": "info",
    "succeeded": "good",
    "retry_scheduled": "warn",
    "dead": "bad",
    "cancelled": "",
}
PLACES: Final = {"document": "/documents/", "conversation": "/conversations/", "image": "/galleries/"}


async def listing(
    page: Page,
    state: str = "",
    job_type: Annotated[str, Field(alias="type")] = "",
    entity: str = "",
    before: int | None = None,
) -> Response:
    """Show the newest jobs of a filter, and how many are in each state."""
    caller, app = page.caller, page.installation
    found = await _find(caller, state, job_type, entity, before, LIST_LIMIT)
    types, counts, unhandled = await asyncio.gather(
        read_job_types(app.database), count_jobs(caller.app.ledger), caller.app.jobs.unhandled()
    )
    foja_types = app.workers.foja_types
    domains = {each.type: each.domain for each in types}
    older = page.address(before=found[-1].id, notice=None) if len(found) == LIST_LIMIT and state else None
    return page.render(
        "jobs.html",
        "jobs",
        jobs=[(each, PLACES.get(domains.get(each.type, ""))) for each in found],
        counts=counts,
        unhandled=[(each, "unhandled" if each.type in foja_types else "unhandled_own") for each in unhandled],
        types=types,
        states=STATES,
        chosen={"state": state, "type": job_type, "entity": entity},
        tones=TONES,
        older=older,
        done=page.request.query_params.get("done", ""),
        refused=page.request.query_params.get("refused", ""),
        bulk_limit=BULK_LIMIT,
        newest=NEWEST_OF_TYPE,
    )


async def _find(
    caller: Caller, state: str, job_type: str, entity: str, before: int | None, limit: int
) -> Sequence[JobView]:
    """Return the jobs of a filter, without reading all others."""
    if state and state not in STATES:
        raise Refused(f"there is no state {state!r}; a job is {', '.join(STATES)}")
    wanted = JobFilter(state or None, job_type or None, _entity(entity) if entity else None)
    ids = await find_jobs(caller.app.ledger, wanted, before=before, limit=limit)
    jobs = caller.app.jobs
    return await jobs.list(limit=limit) if ids is None else await jobs.named(ids)


def _entity(text: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        raise Refused(f"{text!r} is not the id of a stream: expected a UUID") from None


async def retry_all(page: Page) -> Response:
    """Retry the jobs of a filter, one by one: a job that may not be retried stops no other."""
    return await _each(page, "jobs.retry")


async def cancel_all(page: Page) -> Response:
    """Cancel the jobs of a filter."""
    return await _each(page, "jobs.cancel")


async def _each(page: Page, name: str) -> Response:
    sent = await read_form(page.request)
    state, job_type, entity = (field(sent, name) for name in ("state", "type", "entity"))
    found = await _find(page.caller, state, job_type, entity, None, BULK_LIMIT)
    ids = [each.id for each in found]
    changed = await act(page, name, {"jobs": ids}) if ids else ChangedJobs(0, 0)
    return see_other(await _back(page, changed))


async def _back(page: Page, answer: Any) -> str:
    """Return the address of the filter that a form came from, with what was done."""
    sent = await read_form(page.request)
    chosen = {name: value for name in ("state", "type", "entity") if (value := field(sent, name))}
    if isinstance(answer, ChangedJobs):
        chosen |= {"done": str(answer.done), "refused": str(answer.asked - answer.done)}
    return f"/jobs?{urlencode(chosen)}" if chosen else "/jobs"


ONE, TYPE = "/jobs/{job_id:int}", "/jobs/types/{job_type}"
PAGES = (
    PageRoute("GET /jobs", listing),
    PageRoute("POST /jobs/all/retry", retry_all, Scope.RETRY),
    PageRoute("POST /jobs/all/cancel", cancel_all, Scope.OPERATE),
    form(f"{ONE}/retry", "jobs.retry_one", _back),
    form(f"{ONE}/cancel", "jobs.cancel_one", _back),
    form(f"{TYPE}/pause", "jobs.pause", _back),
    form(f"{TYPE}/resume", "jobs.resume", _back),
)
