"""A domain for tests of jobs: it has an executor, two job types and one role per source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

from foja.core.registry import Kind, domain
from foja.driver.database import Database
from foja.jobs.outcome import Done, Job, NewJob, Outcome
from foja.jobs.queue import Queue
from foja.ledger.event import Draft, draft, new_id
from foja.ledger.live.notifier import Notifier

RUN, IN_ORDER, DECIDE = "run_errand", "run_in_order", "decide_errand"
RUNNER, DECIDER = "run-errand", "decide-errand"

ERRAND = domain(
    "errand",
    [
        Kind("errand.asked", frozenset({"api"}), {"what": "string"}),
        Kind("errand.decided", frozenset({DECIDER}), {"read": "number"}),
        Kind("errand.done", frozenset({RUNNER}), {"n": "number"}),
        Kind("errand.failed", frozenset({RUNNER, "sweeper"}), {"reason": "string"}),
    ],
)

TYPES: LiteralString = """
    insert into foja.job_type (type, source, lease, max_tries, backoff, serial, level) values
        ('run_errand', 'run-errand', '30 s', 3, '10 ms', false, false),
        ('run_in_order', 'run-errand', '30 s', 3, '10 ms', true, false),
        ('decide_errand', 'decide-errand', '30 s', 3, '10 ms', false, true);
    insert into foja.domain (domain, executor) values ('errand', 'decide_errand');
    insert into foja.kind (domain, kind, v, sources, required, wakes) values
        ('errand', 'errand.asked', 1, '{api}', '{"what": ["string"]}', true),
        ('errand', 'errand.decided', 1, '{decide-errand}', '{"read": ["number"]}', false),
        ('errand', 'errand.done', 1, '{run-errand}', '{"n": ["number"]}', true),
        ('errand', 'errand.failed', 1, '{run-errand,sweeper}', '{"reason": ["string"]}', true);
"""

Admin = psycopg.Connection[Any]


def install(admin: Admin) -> None:
    """Register the domain, its job types and its roles in a database."""
    for source in (RUNNER, DECIDER):
        role = sql.Identifier(f"foja_{source.replace('-', '_')}")
        try:
            admin.execute(sql.SQL("create role {} nologin").format(role))
            admin.execute(sql.SQL("grant foja_worker to {}").format(role))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # roles are shared by all databases of a server
    admin.execute(TYPES)


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
    return draft(ERRAND, job.entity_id, "errand.done", {"n": n}, source=RUNNER, **more)


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
