"""Jobs for callers and operators: enqueue, list, retry, cancel, pause."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from pydantic import Field

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.jobs.announcement import UnhandledType, find_unhandled
from foja.engine.jobs.outcome import NewJob, check_outcome
from foja.engine.jobs.queue import Queue
from foja.engine.ledger.live.notifier import Notifier
from foja.errors import BadPayload, NotAllowed, Refused, UnknownJob
from foja.pure.core.fields import check_limit, many
from foja.pure.models.jobs.view import (
    STATES,
    ChangedJobs,
    EnqueuedJob,
    JobPage,
    JobView,
    PausedType,
    State,
)
from foja.pure.pages import MAX_LIMIT

JobId: TypeAlias = Annotated[int, Field(ge=1, lt=2**63), "the id of a job"]
JobIds: TypeAlias = Annotated[
    JobId | Annotated[Sequence[JobId], Field(min_length=1, max_length=MAX_LIMIT)] | None, Field(alias="ids")
]
Type: TypeAlias = Annotated[str | None, Field(alias="type"), "only jobs of this type"]
Wanted: TypeAlias = Annotated[State | None, "only jobs in this state"]
OfStream: TypeAlias = Annotated[UUID | None, "only jobs of this stream"]


class Jobs:
    """Jobs of one tenant, or of all; new ones are of `own_tenant`."""

    def __init__(
        self, database: Database, operator: Database, notifier: Notifier, tenant: str | None, own_tenant: str
    ) -> None:
        """`operator` are connections of a role that works for all tenants."""
        self._api, self._operator, self._own_tenant = database, operator, own_tenant
        self._tenant, self._database = tenant, operator if tenant is None else database.of(tenant)
        self._queue, self._shared = Queue(database, notifier, source="api"), True

    def of(self, tenant: str) -> Jobs:
        """Return the jobs of one tenant, on the same connections."""
        other = copy(self)
        other._tenant = other._own_tenant = tenant
        other._database, other._shared = self._api.of(tenant), False
        return other

    async def close(self) -> None:
        """Close the connections that enqueue."""
        await self._queue.close()

    async def enqueue(
        self,
        job_type: str,
        entity_id: UUID,
        *,
        key: str,
        payload: Mapping[str, Any] | None = None,
        delay: float = 0.0,
        priority: int = 1,
        on_death: Mapping[str, Any] | None = None,
    ) -> EnqueuedJob:
        """Queue a job, unless it is queued: a type, a stream and a key make one job, for ever."""
        job = NewJob(job_type, entity_id, key, {} if payload is None else payload, delay, priority, on_death)
        check_outcome(job)
        new = await self._queue.enqueue([job], self._own_tenant) > 0
        return EnqueuedJob(job_type, entity_id, key, new)

    async def list(
        self,
        *,
        state: Wanted = None,
        job_type: Type = None,
        entity_id: OfStream = None,
        before: Annotated[JobId | None, "the last id of the page before"] = None,
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), "at most this many"] = 100,
    ) -> JobPage:
        """List jobs, newest first."""
        if state is not None and state not in STATES:
            raise Refused(f"there is no state {state!r}; a job is {', '.join(STATES)}")
        check_limit(limit)
        await self._database.rows(sql.query("queue_woken"))
        jobs = await self._find(state=state, type=job_type, entity=entity_id, before=before, limit=limit)
        return JobPage(jobs, await self.paused(), jobs[-1].id if len(jobs) == limit else None)

    async def show(self, job_id: JobId) -> JobView:
        """Return one job as it stands."""
        found = await self._find(job=job_id)
        if not found:
            raise UnknownJob(f"there is no job {job_id}; `foja jobs list` shows them")
        return found[0]

    async def named(self, jobs: Sequence[int]) -> Sequence[JobView]:
        """Return those of these jobs that there are, newest first."""
        values = {"jobs": [*jobs], "tenant": self._tenant}
        return await self._database.rows(sql.query("jobs_named"), JobView, **values)

    async def paused(self) -> builtins.list[str]:
        """Return the types of which nothing is claimed now."""
        return await self._database.values(sql.query("paused_types"))

    async def unhandled(self) -> Sequence[UnhandledType]:
        """Return the types with ready jobs that no running worker does."""
        return await find_unhandled(self._database, self._tenant)

    async def retry(
        self,
        jobs: JobIds = None,
        *,
        state: Wanted = None,
        job_type: Type = None,
        entity_id: OfStream = None,
        actor: str | None = None,
    ) -> ChangedJobs:
        """Queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match."""
        return await self._change("retry", await self._chosen(jobs, state, job_type, entity_id), actor)

    async def cancel(
        self,
        jobs: JobIds = None,
        *,
        state: Wanted = None,
        job_type: Type = None,
        entity_id: OfStream = None,
        actor: str | None = None,
    ) -> ChangedJobs:
        """End jobs that are not over, and put dead ones away: these, or all that match."""
        return await self._change("cancel", await self._chosen(jobs, state, job_type, entity_id), actor)

    async def pause(self, job_type: str, *, actor: str | None = None) -> PausedType:
        """Stop claims of this type, for all tenants, until it is resumed; running jobs finish."""
        return await self._switch("pause", job_type, actor)

    async def resume(self, job_type: str, *, actor: str | None = None) -> PausedType:
        """Let this type be claimed again."""
        return await self._switch("resume", job_type, actor)

    async def _find(self, **wanted: object) -> builtins.list[JobView]:
        filters = dict.fromkeys(("state", "type", "entity", "job", "before")) | {"limit": 1} | wanted
        return await self._database.rows(sql.query("list_jobs"), JobView, tenant=self._tenant, **filters)

    async def _chosen(
        self, jobs: JobIds, state: Wanted, job_type: Type, entity_id: OfStream
    ) -> Sequence[int]:
        """Return the ids of the chosen jobs, newest first; a choice of all jobs is refused."""
        if (jobs is None) != bool(state or job_type or entity_id):
            raise BadPayload("name the jobs by their ids, or choose them by state, type or stream; not both")
        if jobs is not None:
            return list(dict.fromkeys(many(jobs)))
        found: builtins.list[int] = []
        before, more = None, True
        while more:
            page = await self.list(
                state=state, job_type=job_type, entity_id=entity_id, before=before, limit=MAX_LIMIT
            )
            found += [job.id for job in page]
            before, more = page.next, page.next is not None
        return found

    async def _change(self, action: str, jobs: Sequence[int], actor: str | None) -> ChangedJobs:
        """Change jobs one by one: of several, one that may not be changed stops no other."""
        done = 0
        for job_id in jobs:
            try:
                done += await self._change_one(action, job_id, actor)
            except Refused:
                if len(jobs) == 1:
                    raise
        return ChangedJobs(len(jobs), done)

    async def _change_one(self, action: str, job_id: int, actor: str | None) -> int:
        await self.show(job_id)
        values = {"jobs": [job_id], "tenant": self._tenant, "actor": actor}
        return int(await self._database.value(sql.query("change_jobs"), action=action, **values))

    async def _switch(self, action: str, job_type: str, actor: str | None) -> PausedType:
        if not self._shared:
            raise NotAllowed("all tenants share a job type; only the operator of the installation pauses one")
        values = {"type": job_type, "actor": actor}
        if not await self._operator.value(sql.query("switch_jobs"), action=action, **values):
            raise UnknownJob(f"there is no job type {job_type!r}; `foja jobs list` shows those in use")
        return PausedType(job_type, action == "pause")
