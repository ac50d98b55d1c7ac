"""`/jobs`: jobs by state, type and stream; retry, cancel, also all that a filter shows; pause a type."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Query, Request, Response
from starlette.datastructures import FormData

from foja.engine.observe.overview import NEWEST_OF_TYPE, JobFilter, count_jobs, find_jobs, read_job_types
from foja.errors import Refused
from foja.interfaces.web.caller import Caller, Operator, Reader, Retrier, needs
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import field, read_form, see_other
from foja.interfaces.web.pages.frame.page import Requested
from foja.interfaces.web.pages.texts.jobs import TEXTS
from foja.pure.models.access.principal import Scope
from foja.pure.models.jobs.view import STATES, JobView

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
TypeOperator = Annotated[Caller, Depends(needs(Scope.ADMIN, installation=True))]
routes = page_router(prefix="/jobs")


@routes.get("")
async def listing(
    caller: Reader,
    page: Requested,
    state: str = "",
    job_type: Annotated[str, Query(alias="type")] = "",
    entity: str = "",
    before: int | None = None,
) -> Response:
    """Show the newest jobs of a filter, and how many are in each state."""
    found = await _find(caller, state, job_type, entity, before, LIST_LIMIT)
    types, counts, unhandled = await asyncio.gather(
        read_job_types(caller.ctx.app.database), count_jobs(caller.app.ledger), caller.app.jobs.unhandled()
    )
    foja_types = caller.ctx.app.workers.foja_types
    domains = {each.type: each.domain for each in types}
    older = page.address(before=found[-1].id, notice=None) if len(found) == LIST_LIMIT and state else None
    return page.render(
        "jobs.html",
        TEXTS,
        principal=caller.principal,
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


@routes.post("/{job_id:int}/retry")
async def retry(caller: Retrier, request: Request, job_id: int) -> Response:
    """Queue a dead job anew, or a waiting one at once."""
    form = await read_form(request)
    await caller.app.jobs.retry([job_id], actor=caller.principal.actor)
    return _back(form, 1, 0)


@routes.post("/{job_id:int}/cancel")
async def cancel(caller: Operator, request: Request, job_id: int) -> Response:
    """End a job, or put a dead one away."""
    form = await read_form(request)
    await caller.app.jobs.cancel([job_id], actor=caller.principal.actor)
    return _back(form, 1, 0)


@routes.post("/all/retry")
async def retry_all(caller: Retrier, request: Request) -> Response:
    """Retry the jobs of a filter, one by one: a job that may not be retried stops no other."""
    return await _each(caller, await read_form(request), retry=True)


@routes.post("/all/cancel")
async def cancel_all(caller: Operator, request: Request) -> Response:
    """Cancel the jobs of a filter."""
    return await _each(caller, await read_form(request), retry=False)


async def _each(caller: Caller, form: FormData, *, retry: bool) -> Response:
    chosen = {name: field(form, name) for name in ("state", "type", "entity")}
    found = await _find(caller, chosen["state"], chosen["type"], chosen["entity"], None, BULK_LIMIT)
    act = caller.app.jobs.retry if retry else caller.app.jobs.cancel
    if not found:
        return _back(form, 0, 0)
    changed = await act([each.id for each in found], actor=caller.principal.actor)
    return _back(form, changed.done, changed.asked - changed.done)


@routes.post("/types/{job_type}/{verb}")
async def switch(caller: TypeOperator, request: Request, job_type: str, verb: str) -> Response:
    """Pause a type or resume it, for all tenants."""
    form = await read_form(request)
    jobs, actor = caller.ctx.app.jobs, caller.principal.actor
    await (jobs.pause if verb == "pause" else jobs.resume)(job_type, actor=actor)
    return _back(form, None, 0)


def _back(form: FormData, done: int | None, refused: int) -> Response:
    """Redirect to the filter that a form came from, with what was done."""
    chosen = {name: value for name in ("state", "type", "entity") if (value := field(form, name))}
    if done is not None:
        chosen |= {"done": str(done), "refused": str(refused)}
    return see_other("/jobs", **chosen)
