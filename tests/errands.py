"""A small domain of the tests' own, with an executor, two job types and a role for each source."""

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
    """Teach a database what errands are."""
    for source in (RUNNER, DECIDER):
        role = sql.Identifier(f"foja_{source.replace('-', '_')}")
        try:
            admin.execute(sql.SQL("create role {} nologin").format(role))
            admin.execute(sql.SQL("grant foja_worker to {}").format(role))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # roles belong to the whole server
    admin.execute(TYPES)


@asynccontextmanager
async def queue(url: str, source: str = RUNNER, make: type[Queue] = Queue) -> AsyncIterator[Queue]:
    """Lend the queue of one source."""
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
    """Begin streams by asking for something, as psql would; new ones if none are named."""
    chosen = list(entities) or [new_id()]
    for entity in chosen:
        admin.execute(
            "select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')", [entity]
        )
    return chosen


def fact(job: Job, n: int = 1, **more: Any) -> Draft:
    """Return the event a worker leaves."""
    return draft(ERRAND, job.entity_id, "errand.done", {"n": n}, source=RUNNER, **more)


def wanted(entity: UUID, key: str, kind: str = RUN, **more: Any) -> NewJob:
    """Return a job whose death is recorded."""
    words = {"kind": "errand.failed", "v": 1, "payload": {"reason": key}}
    return NewJob(kind, entity, key, **{"on_death": words, **more})


async def do_well(jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Work that succeeds with a fact each."""
    return [Done([fact(job)]) for job in jobs]


def states(admin: Admin, kind: str = RUN) -> dict[str, int]:
    """Count the jobs of a type by state, executors that were woken among them."""
    admin.execute("select foja.queue_woken_v1()")
    rows = admin.execute("select state, count(*) from foja.job where type = %s group by state", [kind])
    return dict(rows.fetchall())


def kinds(admin: Admin, entity: UUID) -> list[str]:
    """Return what a stream says, in order."""
    rows = admin.execute("select kind from foja.event where entity_id = %s order by seq", [entity])
    return [kind for (kind,) in rows]
