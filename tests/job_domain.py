"""A domain for tests of jobs: it has an executor, two job types and one role per source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, Job, NewJob, Outcome
from foja.engine.jobs.queue import Queue
from foja.engine.ledger.event import Draft, draft, new_id
from foja.engine.ledger.live.notifier import Notifier
from foja.pure.core.registry import Domain, JobType, Kind

RUN, IN_ORDER, DECIDE = "run_errand", "run_in_order", "decide_errand"
RUNNER, DECIDER = "run-errand", "decide-errand"

ERRAND = Domain(
    "errand",
    [
        Kind("errand.asked", required={"what": "string"}, erasable=True),
        Kind("errand.decided", {DECIDER}, {"read": "number"}, wakes=False),
        Kind("errand.done", {RUNNER}, {"n": "number"}),
        Kind("errand.failed", {RUNNER, "sweeper"}, {"reason": "string"}),
    ],
    jobs=[
        JobType(RUN, RUNNER, max_tries=3, backoff=0.01),
        JobType(IN_ORDER, RUNNER, max_tries=3, backoff=0.01, serial=True),
        JobType(DECIDE, DECIDER, max_tries=3, backoff=0.01, level=True),
    ],
    executor=DECIDE,
)

Admin = psycopg.Connection[Any]


def install(admin: Admin) -> None:
    """Register the domain, its job types and its roles in a database."""
    admin.execute("select foja.register_domain(%s)", [Jsonb(ERRAND.definition())])


@asynccontextmanager
async def queue(url: str, source: str = RUNNER, make: type[Queue] = Queue) -> AsyncIterator[Queue]:
    """Yield the queue of one source."""
    role = f"foja_{source.replace('-', '_')}"
    database, notifier = Database(url, role, 4), Notifier(url, role)
    notifier.open()
    opened = make(database, notifier, source=source, tenant="default")
    try:
        yield opened
    finally:
        await opened.close()
        await notifier.close()
        await database.close()


def ask(admin: Admin, *entities: UUID) -> list[UUID]:
    """Append a request to each stream by SQL; return the streams, a new one if none is given."""
    streams = list(entities) or [new_id()]
    for entity in streams:
        admin.execute(
            "select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')", [entity]
        )
    return streams


def fact(job: Job, n: int = 1, **more: Any) -> Draft:
    """Return the event that a worker appends when it completes a job."""
    return draft(ERRAND, job.entity_id, "errand.done", {"n": n}, tenant=job.tenant, source=RUNNER, **more)


def wanted(entity: UUID, key: str, kind: str = RUN, **more: Any) -> NewJob:
    """Return a job that appends an event when it has no tries left."""
    on_death = {"kind": "errand.failed", "v": 1, "payload": {"reason": key}}
    return NewJob(kind, entity, key, **{"on_death": on_death, **more})


async def do_well(jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Complete every job with one event."""
    return [Done([fact(job)]) for job in jobs]


def states(admin: Admin, kind: str = RUN) -> dict[str, int]:
    """Count the jobs of a type by state, after queueing the executors of woken streams."""
    admin.execute("select foja.queue_woken_v1()")
    rows = admin.execute("select state, count(*) from foja.job where type = %s group by state", [kind])
    return dict(rows.fetchall())


def kinds(admin: Admin, entity: UUID) -> list[str]:
    """Return the kinds of the events of a stream, in order."""
    rows = admin.execute("select kind from foja.event where entity_id = %s order by seq", [entity])
    return [kind for (kind,) in rows]
