"""What callers can do about jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from foja.engine.jobs.admin import JobId, Jobs
from foja.errors import BadPayload, Refused, UnknownJob
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.pure.core.registry import RESERVED_DOMAINS
from foja.pure.models.access.principal import Scope
from foja.pure.models.jobs.view import ChangedJobs, EnqueuedJob, WaitingType, WaitingTypes
from foja.tenant import TenantApp


async def enqueue(
    caller: Caller,
    job_type: Annotated[str, Field(alias="type")],
    entity_id: UUID,
    *,
    key: Annotated[str | None, "your name for the job; the Idempotency-Key, if it is left out"] = None,
    payload: Mapping[str, Any] | None = None,
    delay: Annotated[float, Field(ge=0)] = 0.0,
    priority: Annotated[int, Field(ge=0, le=2)] = 1,
    idempotency_key: str | None = None,
) -> EnqueuedJob:
    """Queue a job of a domain of yours. A type, a stream and a key make one job, for ever."""
    name = key or idempotency_key
    if name is None:
        raise BadPayload("a job needs a key: give `key`, or send the header Idempotency-Key")
    stream = await _stream(caller.app, job_type, entity_id)
    more: dict[str, Any] = {"payload": payload, "delay": delay, "priority": priority}
    return await caller.app.jobs.enqueue(job_type, stream, key=name, **more)


async def unhandled(jobs: Jobs) -> WaitingTypes:
    """List the types of which jobs are ready and that no running worker does."""
    return WaitingTypes([WaitingType(each.type, each.jobs, each.ready_at) for each in await jobs.unhandled()])


async def retry_one(jobs: Jobs, job_id: JobId, *, actor: str | None = None) -> ChangedJobs:
    """Queue a dead job anew with fresh tries, or a waiting one at once."""
    return await jobs.retry(job_id, actor=actor)


async def cancel_one(jobs: Jobs, job_id: JobId, *, actor: str | None = None) -> ChangedJobs:
    """End a job that is not over, or put a dead one away."""
    return await jobs.cancel(job_id, actor=actor)


async def _stream(app: TenantApp, job_type: str, entity_id: UUID) -> UUID:
    """Return the stream of a job, if its type belongs to a domain of the user's."""
    found = [each for each in await app.registry.domains() if job_type in {job.name for job in each.jobs}]
    if not found:
        raise UnknownJob(f"there is no job type {job_type!r}; /v1/streams lists the domains with theirs")
    if found[0].name in RESERVED_DOMAINS:
        raise Refused(f"jobs of a {found[0].name} are queued by its own routes, not here")
    stream = await app.streams(found[0]).open(entity_id)
    await stream.check_domain()
    return stream.id


def _jobs(caller: Caller) -> Jobs:
    return caller.app.jobs


def _key(job: EnqueuedJob) -> tuple[str]:
    return (job.key,)


OPERATIONS = (
    Operation(
        *("jobs.list", "GET /v1/jobs", Jobs.list, Scope.READ, _jobs),
        verb="jobs list",
        examples="foja jobs list --state dead\nfoja jobs list --type run_tsa --entity ENTITY --json",
    ),
    Operation(
        *("jobs.show", "GET /v1/jobs/{job_id:int}", Jobs.show, Scope.READ, _jobs),
        verb="jobs show",
        examples="foja jobs show 41",
    ),
    Operation(
        "jobs.unhandled", "GET /v1/jobs/unhandled", unhandled, Scope.READ, _jobs, verb="jobs unhandled"
    ),
    Operation("jobs.enqueue", "POST /v1/jobs", enqueue, Scope.WRITE, new=bool, made=_key),
    Operation(
        *("jobs.retry", "POST /v1/jobs/retry", Jobs.retry, Scope.RETRY, _jobs),
        verb="jobs retry",
        examples="foja jobs retry 41 42\nfoja jobs retry --type run_tsa --state dead",
    ),
    Operation(
        *("jobs.cancel", "POST /v1/jobs/cancel", Jobs.cancel, Scope.OPERATE, _jobs),
        verb="jobs cancel",
        examples="foja jobs cancel 41 42\nfoja jobs cancel --type run_tsa --state dead",
    ),
    Operation(
        *("jobs.retry_one", "POST /v1/jobs/{job_id:int}/retry", retry_one, Scope.RETRY, _jobs),
        client=False,
    ),
    Operation(
        *("jobs.cancel_one", "POST /v1/jobs/{job_id:int}/cancel", cancel_one, Scope.OPERATE, _jobs),
        client=False,
    ),
    Operation(
        *("jobs.pause", "POST /v1/jobs/types/{job_type}/pause", Jobs.pause, Scope.ADMIN, _jobs),
        installation=True,
        verb="jobs pause",
        examples="foja jobs pause run_tsa",
    ),
    Operation(
        *("jobs.resume", "POST /v1/jobs/types/{job_type}/resume", Jobs.resume, Scope.ADMIN, _jobs),
        installation=True,
        verb="jobs resume",
        examples="foja jobs resume run_tsa",
    ),
)
