"""Extend leases while the work goes on, on a separate connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from foja.engine import sql
from foja.engine.driver.database import Connection, Database, connect, our_errors
from foja.engine.faults import Watch
from foja.engine.jobs.outcome import Job
from foja.engine.metrics import LEASES_LOST
from foja.engine.tasks import end
from foja.errors import FojaError

MISSED = 2


class Heartbeat:
    """Extends the leases of one worker. `well` is false after two missed beats, until one succeeds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._watch = Watch("heartbeat")
        self.well = True

    @contextlib.asynccontextmanager
    async def keeping(self, jobs: Sequence[Job], work: asyncio.Task[Any]) -> AsyncIterator[None]:
        """Keep these leases until the block ends; cancel the work if all of them are lost."""
        beating = asyncio.create_task(self._beat_on(jobs, work))
        try:
            yield
        finally:
            await end([beating])
            self.close()

    async def beat(self, jobs: Sequence[Job]) -> set[int]:
        """Extend once; return the ids of the jobs that are still ours."""
        with our_errors():
            try:
                if self._connection is None:
                    self._connection = await connect(
                        self._database.url, self._database.role, answer_seconds=self._database.answer_seconds
                    )
                rows = await self._connection.execute(
                    sql.query("heartbeat_jobs"),
                    {"jobs": [job.id for job in jobs], "tokens": [job.token for job in jobs]},
                )
                return {job_id for (job_id,) in await rows.fetchall()}
            except BaseException:
                self.close()
                raise

    async def recover(self) -> None:
        """Return once a beat went out after a missed one; until then nothing should be claimed."""
        if not self.well or self._watch.failing:
            await self.beat([])
            self.close()
            self.well = True
            self._watch.worked()

    def close(self) -> None:
        """Close the connection; the next beat opens another."""
        if self._connection:
            self._connection.pgconn.finish()
            self._connection = None

    async def _beat_on(self, jobs: Sequence[Job], work: asyncio.Task[Any]) -> None:
        pause = min(job.lease_seconds for job in jobs) / 3
        missed = 0
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(pause):
                    held = await self.beat(jobs)
                missed, self.well = 0, True
                self._watch.worked()
            except (FojaError, TimeoutError) as error:
                missed += 1
                self.well = missed < MISSED
                self._watch.failed(error)
                held = {job.id for job in jobs} if self.well else set()
            if not held:
                LEASES_LOST.inc(len(jobs))
                work.cancel("the leases are lost")
                return
