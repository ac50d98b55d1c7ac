"""Close jobs whose lease expired, and queue the jobs of ticks."""

from __future__ import annotations

from foja import sql
from foja.driver.database import Database

SWEEP_LIMIT = 100


async def sweep_jobs(database: Database) -> int:
    """Close the jobs that killed their last worker; return how many."""
    row = await database.row(sql.query("sweep_jobs"), most=SWEEP_LIMIT)
    return int(row[0]) if row else 0


async def correct_times(database: Database) -> int:
    """Correct the times of jobs that a clock ahead wrote; return how many."""
    row = await database.row(sql.query("correct_times"))
    return int(row[0]) if row else 0


async def run_ticks(database: Database) -> int:
    """Queue the jobs of the ticks that are due; return how many."""
    row = await database.row(sql.query("run_ticks"))
    return int(row[0]) if row else 0
