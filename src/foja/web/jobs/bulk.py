"""HTTP routes that retry or cancel many jobs: by their ids, or all that match a filter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import Response

from foja.errors import BadPayload, Refused
from foja.ledger.event import parse_id
from foja.web.bodies import body_of, describe_body
from foja.web.caller import Caller, Operator, Retrier
from foja.web.jobs.bodies import MAX_JOBS, JobSelection
from foja.web.reference.answers.jobs import ChangedJobs
from foja.web.routers import api_router
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/jobs", "jobs")
Selection = Annotated[JobSelection, body_of(JobSelection)]


@routes.post("/retry", response_model=ChangedJobs, openapi_extra=describe_body(JobSelection))
async def retry(caller: Retrier, body: Selection) -> Response:
    """Queue dead jobs anew with fresh tries, and waiting ones at once."""
    return await _change(caller, body, caller.app.jobs.retry)


@routes.post("/cancel", response_model=ChangedJobs, openapi_extra=describe_body(JobSelection))
async def cancel(caller: Operator, body: Selection) -> Response:
    """End jobs that are not over, and put dead ones away."""
    return await _change(caller, body, caller.app.jobs.cancel)


async def _chosen(caller: Caller, body: JobSelection) -> Sequence[int]:
    """Return the ids of the chosen jobs; a selection that chooses all jobs is refused."""
    if body.ids is not None:
        if body.state or body.type or body.entity_id:
            raise BadPayload("give ids or a filter, not both")
        return list(dict.fromkeys(body.ids))
    if not (body.state or body.type or body.entity_id):
        raise BadPayload("this would choose every job: give ids, or a state, a type or a stream")
    entity = None if body.entity_id is None else parse_id(body.entity_id, "stream")
    found = await caller.app.jobs.list(state=body.state, job_type=body.type, entity_id=entity, limit=MAX_JOBS)
    return [job.id for job in found]


async def _change(caller: Caller, body: JobSelection, change: Callable[..., Awaitable[int]]) -> Response:
    """Change jobs one by one: one that may not be changed does not keep the others from it."""
    jobs, done = await _chosen(caller, body), 0
    for job in jobs:
        try:
            done += await change([job], actor=caller.principal.actor)
        except Refused:
            continue
    return JsonAnswer({"asked": len(jobs), "done": done})
