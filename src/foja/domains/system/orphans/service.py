"""Orphans as an operator sees them, and the jobs that look for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from foja.domains.system.orphans.purge import Purger
from foja.domains.system.orphans.scan import Scanner
from foja.engine import sql
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, Job, NewJob, Outcome
from foja.engine.settings import Settings
from foja.pure.models.system.events import PURGE
from foja.pure.models.system.orphans import ARMED_DAYS, OrphanTerms, find_brake
from foja.pure.models.system.view import Candidate, OrphanReport, OrphanTotals, RunRow

SHOWN_RUNS = 10


@dataclass(frozen=True, slots=True)
class Orphans:
    """The orphans of one installation."""

    database: Database  # as `hygiene`
    scanner: Scanner
    purger: Purger

    async def list(self, limit: int) -> Sequence[Candidate]:
        """Return candidates, oldest first."""
        return await self.database.rows(sql.query("orphan_candidates"), Candidate, limit=limit)

    async def report(self) -> OrphanReport:
        """Return the state of orphans in the store."""
        inventory = await self.purger.inventory()
        totals = await self.database.one(sql.query("orphan_totals"), OrphanTotals)
        rescued, false_positives = (
            each / totals.staged if totals.staged else 0.0
            for each in (totals.rescued, totals.false_positives)
        )
        runs = await self.database.rows(sql.query("orphan_runs"), RunRow, limit=SHOWN_RUNS)
        return OrphanReport(
            **asdict(totals),
            rescued_ratio=rescued,
            false_positive_ratio=false_positives,
            unstaged_ratio=rescued + false_positives,
            armed=inventory.armed,
            armed_days=inventory.days,
            needed_days=ARMED_DAYS,
            brake=find_brake(inventory, self.purger.terms),
            objects=inventory.objects,
            due=inventory.due,
            quarantined=inventory.quarantined,
            last_scan=inventory.last_scan,
            runs=runs,
        )

    async def scan_jobs(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Scan; a purge follows if it is armed."""
        return [await self._scan(job) for job in jobs]

    async def purge_jobs(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Purge, unless it was disarmed meanwhile."""
        for _ in jobs:
            if (await self.purger.inventory()).armed:
                await self.purger.purge()
        return [Done() for _ in jobs]

    async def _scan(self, job: Job) -> Outcome:
        result = await self.scanner.scan()
        armed = result.outcome == "complete" and (await self.purger.inventory()).armed
        return Done((), [NewJob(PURGE, job.entity_id, str(result.run))] if armed else ())


def open_orphans(settings: Settings, store: Store, database: Database) -> Orphans:
    """Return the orphans of an installation."""
    terms = OrphanTerms(
        grace=timedelta(seconds=settings.orphan_grace_seconds),
        quarantine=timedelta(seconds=settings.orphan_quarantine_seconds),
        fresh=timedelta(seconds=settings.orphan_fresh_seconds),
        max_objects=settings.orphan_purge_limit,
        max_share=settings.orphan_max_share,
    )
    return Orphans(database, Scanner(database, store, terms), Purger(database, store, terms))
