"""Gauges of the job queue: how many wait and how long, how the newest ended, past their lease, dead."""

from __future__ import annotations

from typing import NamedTuple

from foja.engine import sql
from foja.engine.jobs.announcement import find_unhandled
from foja.engine.metrics import JOB_AGE, JOBS_DEAD, JOBS_PAST_LEASE, JOBS_RECENT, JOBS_UNHANDLED, JOBS_WAITING
from foja.engine.observe.metrics.reader import Rows

MAX_COUNTED = 10_000  # the newest jobs, and the waiting ones of a type


class JobTypeRow(NamedTuple):
    """A job type: seconds that the oldest job waits, jobs past their lease, dead ones."""

    type: str
    age: float
    past_lease: int
    dead: int


async def gauge_jobs(database: Rows, operator: Rows, tenant: str | None) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in (JOB_AGE, JOBS_PAST_LEASE, JOBS_DEAD, JOBS_WAITING, JOBS_RECENT, JOBS_UNHANDLED):
        gauge.clear()
    unhandled = {each.type: each.jobs for each in await find_unhandled(operator, tenant)}
    for row in await database.rows(sql.query("job_gauges"), JobTypeRow, tenant=tenant):
        JOBS_UNHANDLED.labels(row.type).set(unhandled.get(row.type, 0))
        JOB_AGE.labels(row.type).set(row.age)
        JOBS_PAST_LEASE.labels(row.type).set(row.past_lease)
        JOBS_DEAD.labels(row.type).set(row.dead)
    counted = {"tenant": tenant, "most": MAX_COUNTED}
    for job_type, count in await database.rows(sql.query("jobs_waiting"), **counted):
        JOBS_WAITING.labels(job_type).set(count)
    for job_type, state, count in await database.rows(sql.query("jobs_recent"), **counted):
        JOBS_RECENT.labels(job_type, state).set(count)
