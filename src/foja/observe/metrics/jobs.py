"""Gauges of the job queue: how many wait and how long, how the newest ended, past their lease, dead."""

from __future__ import annotations

from foja import sql
from foja.jobs.announcement import find_unhandled
from foja.metrics import JOB_AGE, JOBS_DEAD, JOBS_PAST_LEASE, JOBS_RECENT, JOBS_UNHANDLED, JOBS_WAITING
from foja.observe.metrics.reader import Rows

MAX_COUNTED = 10_000  # the newest jobs, and the waiting ones of a type


async def gauge_jobs(database: Rows, operator: Rows, tenant: str | None) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in (JOB_AGE, JOBS_PAST_LEASE, JOBS_DEAD, JOBS_WAITING, JOBS_RECENT, JOBS_UNHANDLED):
        gauge.clear()
    unhandled = {each.type: each.jobs for each in await find_unhandled(operator, tenant)}
    for job_type, age, late, dead in await database.rows(sql.query("job_gauges"), tenant=tenant):
        JOBS_UNHANDLED.labels(job_type).set(unhandled.get(job_type, 0))
        JOB_AGE.labels(job_type).set(age)
        JOBS_PAST_LEASE.labels(job_type).set(late)
        JOBS_DEAD.labels(job_type).set(dead)
    counted = {"tenant": tenant, "most": MAX_COUNTED}
    for job_type, count in await database.rows(sql.query("jobs_waiting"), **counted):
        JOBS_WAITING.labels(job_type).set(count)
    for job_type, state, count in await database.rows(sql.query("jobs_recent"), **counted):
        JOBS_RECENT.labels(job_type, state).set(count)
