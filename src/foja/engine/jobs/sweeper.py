"""Close jobs whose lease expired, and queue the jobs of ticks."""

from __future__ import annotations

from foja.engine import sql
from foja.engine.driver.database import Database

SWEEP_LIMIT = 100


async def sweep_jobs(database: Database) -> int:
    """Close the jobs that killed their last worker; return how many."""
    return int(await database.value(sql.query("sweep_jobs"), most=SWEEP_LIMIT))


async def correct_times(database: Database) -> int:
    """Correct the times of jobs that a clock ahead wrote; return how many."""
    return int(await database.value(sql.query("correct_times")))


async def run_ticks(database: Database) -> int:
    """Queue the jobs of the ticks that are due; return how many."""
    return int(await database.value(sql.query("run_ticks")))
