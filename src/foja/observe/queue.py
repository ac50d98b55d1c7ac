"""Gauges of the job queue: waiting, past their lease, dead."""

from __future__ import annotations

from foja import sql
from foja.driver.database import Database
from foja.metrics import JOB_AGE, JOBS_DEAD, JOBS_PAST_LEASE


async def gauge_jobs(database: Database, tenant: str | None) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in (JOB_AGE, JOBS_PAST_LEASE, JOBS_DEAD):
        gauge.clear()
    await database.rows(sql.query("queue_woken"))
    for job_type, age, late, dead in await database.rows(sql.query("job_gauges"), tenant=tenant):
        JOB_AGE.labels(job_type).set(age)
        JOBS_PAST_LEASE.labels(job_type).set(late)
        JOBS_DEAD.labels(job_type).set(dead)
