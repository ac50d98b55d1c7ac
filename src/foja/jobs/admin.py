"""Jobs for callers and operators: enqueue, list, retry, cancel, pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

from foja import sql
from foja.core.fields import check_limit
from foja.driver.database import Database
from foja.errors import NotAllowed, Refused, UnknownJob
from foja.jobs.announcement import UnhandledType, find_unhandled
from foja.jobs.outcome import NewJob, State, check_outcome
from foja.jobs.queue import Queue
from foja.ledger.live.notifier import Notifier

STATES: tuple[str, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands."""

    id: int
    type: str
    state: State
    entity_id: UUID
    correlation_id: UUID
    tenant: str
    key: str
    priority: int
    tries: int
    max_tries: int
    first: bool  # of its stream; until it is, an earlier job has to end
    run_at: datetime
    created_at: datetime
    finished_at: datetime | None
    worker: str | None
    lease_until: datetime | None
    last_error: str | None
    payload: Any
    on_death: Any

    def document(self) -> dict[str, Any]:
        """Return the job as JSON carries it."""
        return asdict(self)


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
    ) -> bool:
        """Queue a job; return whether it is new. A type, a stream and a key make one job, for ever."""
        job = NewJob(job_type, entity_id, key, {} if payload is None else payload, delay, priority, on_death)
        check_outcome(job)
        return await self._queue.enqueue([job], self._own_tenant) > 0

    async def list(
        self,
        *,
        state: str | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[JobView]:
        """Return the newest jobs of these, newest first; `before` is the last id of the page before."""
        if state is not None and state not in STATES:
            raise Refused(f"there is no state {state!r}; a job is {', '.join(STATES)}")
        check_limit(limit)
        await self._database.rows(sql.query("queue_woken"))
        return await self._find(state=state, type=job_type, entity=entity_id, before=before, limit=limit)

    async def matching(
        self, *, state: str | None = None, job_type: str | None = None, entity_id: UUID | None = None
    ) -> Sequence[int]:
        """Return the ids of all these jobs, newest first."""
        found: list[int] = []
        while page := await self.list(
            state=state,
            job_type=job_type,
            entity_id=entity_id,
            before=found[-1] if found else None,
            limit=1000,
        ):
            found += [job.id for job in page]
        return found

    async def show(self, job_id: int) -> JobView:
        """Return one job, or raise `UnknownJob`."""
        found = await self._find(job=job_id)
        if not found:
            raise UnknownJob(f"there is no job {job_id}; `foja jobs list` shows them")
        return found[0]

    async def named(self, jobs: Sequence[int]) -> Sequence[JobView]:
        """Return those of these jobs that there are, newest first."""
        values = {"jobs": [*jobs], "tenant": self._tenant}
        return [JobView(*row) for row in await self._database.rows(sql.query("jobs_named"), **values)]

    async def paused(self) -> Sequence[str]:
        """Return the types of which nothing is claimed now."""
        return [name for (name,) in await self._database.rows(sql.query("paused_types"))]

    async def unhandled(self) -> Sequence[UnhandledType]:
        """Return the types with ready jobs that no running worker does."""
        return await find_unhandled(self._database, self._tenant)

    async def retry(self, jobs: Sequence[int], *, actor: str | None = None) -> int:
        """Queue dead jobs anew with fresh tries, and waiting ones at once; return how many there were."""
        return await self._change("retry", jobs, actor)

    async def cancel(self, jobs: Sequence[int], *, actor: str | None = None) -> int:
        """End jobs that are not over, and put dead ones away; return how many there were."""
        return await self._change("cancel", jobs, actor)

    async def pause(self, job_type: str, *, actor: str | None = None) -> None:
        """Stop claims of this type until it is resumed; running jobs finish."""
        await self._switch("pause", job_type, actor)

    async def resume(self, job_type: str, *, actor: str | None = None) -> None:
        """Let this type be claimed again."""
        await self._switch("resume", job_type, actor)

    async def _find(self, **wanted: object) -> Sequence[JobView]:
        filters = dict.fromkeys(("state", "type", "entity", "job", "before")) | {"limit": 1} | wanted
        rows = await self._database.rows(sql.query("list_jobs"), tenant=self._tenant, **filters)
        return [JobView(*row) for row in rows]

    async def _change(self, action: str, jobs: Sequence[int], actor: str | None) -> int:
        for job_id in jobs:
            await self.show(job_id)
        row = await self._database.row(
            sql.query("change_jobs"), action=action, jobs=list(jobs), tenant=self._tenant, actor=actor
        )
        return int(row[0]) if row else 0

    async def _switch(self, action: str, job_type: str, actor: str | None) -> None:
        if not self._shared:
            raise NotAllowed("all tenants share a job type; only the operator of the installation pauses one")
        row = await self._operator.row(sql.query("switch_jobs"), action=action, type=job_type, actor=actor)
        if row is None or not row[0]:
            raise UnknownJob(f"there is no job type {job_type!r}; `foja jobs list` shows those in use")
