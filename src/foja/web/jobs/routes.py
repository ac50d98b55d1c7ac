"""`/v1/jobs`: list, show, enqueue, retry, cancel, pause, resume."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Path, Query, Response

from foja.access.model.principal import Scope
from foja.core.registry import RESERVED_DOMAINS
from foja.errors import BadPayload, Refused, UnknownJob
from foja.web.bodies import body_of, describe_body
from foja.web.caller import Caller, Operator, Reader, Retrier, Writer, needs
from foja.web.conversations.address import check_domain
from foja.web.jobs.bodies import NewJobBody, State
from foja.web.reference.answers.jobs import ChangedJobs, EnqueuedJob, JobAnswer, JobPage, JobTypeAnswer
from foja.web.reference.openapi import again
from foja.web.routers import api_router
from foja.web.streams.appends import Key, keyed
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/jobs", "jobs")
JobNumber = Annotated[int, Path(ge=1, lt=2**63, description="the id of a job")]
TypeOperator = Annotated[Caller, Depends(needs(Scope.ADMIN, installation=True))]


@routes.get("", response_model=JobPage)
async def jobs(
    caller: Reader,
    state: State | None = None,
    job_type: Annotated[str | None, Query(alias="type")] = None,
    entity_id: UUID | None = None,
    before: Annotated[int | None, Query(ge=1, lt=2**63, description="the last id of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List jobs, newest first; `next` is the address of older ones."""
    app = caller.app
    found = await app.jobs.list(
        state=state, job_type=job_type, entity_id=entity_id, before=before, limit=limit
    )
    wanted = {"state": state, "type": job_type, "entity_id": entity_id, "limit": limit}
    more = None
    if len(found) == limit:
        wanted["before"] = found[-1].id
        more = f"/v1/jobs?{urlencode({name: each for name, each in wanted.items() if each is not None})}"
    paused = list(await app.jobs.paused())
    return JsonAnswer({"jobs": [each.document() for each in found], "paused": paused, "next": more})


@routes.post(
    "",
    status_code=201,
    response_model=EnqueuedJob,
    responses=again(EnqueuedJob),
    openapi_extra=describe_body(NewJobBody),
)
async def enqueue(
    caller: Writer, body: Annotated[NewJobBody, body_of(NewJobBody)], key: Key = None
) -> Response:
    """Queue a job of a domain of yours. The same type, stream and key again answers 200."""
    request, asked = keyed(caller, key, "/v1/jobs"), dict(body)
    name = body.key or key
    if name is None:
        raise BadPayload("a job needs a key: give `key`, or send the header Idempotency-Key")
    stream = await _stream(caller, body.type, body.entity_id)
    await request.found(asked)
    new = await caller.app.jobs.enqueue(
        body.type, stream, key=name, payload=body.payload, delay=body.delay, priority=body.priority
    )
    await request.note(asked, name)
    answer = {"type": body.type, "entity_id": str(stream), "key": name, "new": new}
    return JsonAnswer(answer, 201 if new else 200)


@routes.get("/{job_id:int}", response_model=JobAnswer)
async def job(caller: Reader, job_id: JobNumber) -> Response:
    """Return one job as it stands."""
    return JsonAnswer((await caller.app.jobs.show(job_id)).document())


@routes.post("/{job_id:int}/retry", response_model=ChangedJobs)
async def retry(caller: Retrier, job_id: JobNumber) -> Response:
    """Queue a dead job anew with fresh tries, or a waiting one at once."""
    done = await caller.app.jobs.retry([job_id], actor=caller.principal.actor)
    return JsonAnswer({"asked": 1, "done": done})


@routes.post("/{job_id:int}/cancel", response_model=ChangedJobs)
async def cancel(caller: Operator, job_id: JobNumber) -> Response:
    """End a job that is not over, or put a dead one away."""
    done = await caller.app.jobs.cancel([job_id], actor=caller.principal.actor)
    return JsonAnswer({"asked": 1, "done": done})


@routes.post("/types/{job_type}/pause", response_model=JobTypeAnswer)
async def pause(caller: TypeOperator, job_type: str) -> Response:
    """Stop claims of this type, for all tenants, until it is resumed; running jobs finish."""
    await caller.ctx.app.jobs.pause(job_type, actor=caller.principal.actor)
    return JsonAnswer({"type": job_type, "paused": True})


@routes.post("/types/{job_type}/resume", response_model=JobTypeAnswer)
async def resume(caller: TypeOperator, job_type: str) -> Response:
    """Let this type be claimed again."""
    await caller.ctx.app.jobs.resume(job_type, actor=caller.principal.actor)
    return JsonAnswer({"type": job_type, "paused": False})


async def _stream(caller: Caller, job_type: str, entity_id: str) -> UUID:
    """Return the stream of a job, if its type belongs to a domain of the user's."""
    found = [
        domain
        for domain in await caller.app.registry.domains()
        if job_type in {job.name for job in domain.jobs}
    ]
    if not found:
        raise UnknownJob(f"there is no job type {job_type!r}; /v1/streams lists the domains with theirs")
    if found[0].name in RESERVED_DOMAINS:
        raise Refused(f"jobs of a {found[0].name} are queued by its own routes, not here")
    stream = await caller.app.streams(found[0]).open(entity_id)
    await check_domain(caller.app, stream)
    return stream.id
