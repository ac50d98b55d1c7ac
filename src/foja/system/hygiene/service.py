"""Orphans as an operator sees them, and the jobs that look for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from foja import sql
from foja.blobs.store import Store
from foja.driver.database import Database
from foja.jobs.outcome import Done, Job, NewJob, Outcome
from foja.settings import Settings
from foja.system.hygiene.purge import Purger
from foja.system.hygiene.scan import Scanner
from foja.system.model.events import PURGE
from foja.system.model.hygiene import ARMED_DAYS, HygieneTerms, Inventory, find_brake

SHOWN_RUNS = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that nothing refers to and that is not purged."""

    path: str
    detected_at: datetime
    last_seen_reference: datetime | None
    size: int | None
    state: str  # of its object; `stray` if no row explains it


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run that ended, as it was recorded."""

    run: UUID
    action: str
    outcome: str
    started_at: datetime
    ended_at: datetime
    detail: str | None
    checked: int
    candidates: int
    staged: int
    strays: int
    missing: int
    rescued: int
    rescued_late: int
    false_positives: int
    quarantined: int
    deleted: int
    bytes: int


@dataclass(frozen=True, slots=True)
class OrphanTotals:
    """Candidates that are not purged, by age, and the totals of all that were ever staged."""

    total_staged: int
    lt_1d: int
    d1_3: int
    d3_7: int
    gte_7d: int
    staged: int
    rescued: int
    false_positives: int
    deleted: int
    bytes: int

    @property
    def rescued_ratio(self) -> float:
        """Candidates that something began to refer to, of all that were staged."""
        return self.rescued / self.staged if self.staged else 0.0

    @property
    def false_positive_ratio(self) -> float:
        """Candidates that something had referred to before, of all that were staged."""
        return self.false_positives / self.staged if self.staged else 0.0

    @property
    def unstaged_ratio(self) -> float:
        """The seed's ratio: all that were taken back, of all that were staged."""
        return self.rescued_ratio + self.false_positive_ratio


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """How the hygiene of the store stands."""

    inventory: Inventory
    brake: str | None
    totals: OrphanTotals
    runs: Sequence[RunRow]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        ratios = ("rescued_ratio", "false_positive_ratio", "unstaged_ratio")
        return {
            "armed": self.inventory.armed,
            "armed_days": self.inventory.days,
            "needed_days": ARMED_DAYS,
            "brake": self.brake,
            "objects": self.inventory.objects,
            "due": self.inventory.due,
            "quarantined": self.inventory.quarantined,
            "last_scan": self.inventory.last_scan,
            **asdict(self.totals),
            **{name: getattr(self.totals, name) for name in ratios},
            "runs": [asdict(each) for each in self.runs],
        }


@dataclass(frozen=True, slots=True)
class Hygiene:
    """The orphans of one installation."""

    database: Database  # as `hygiene`
    scanner: Scanner
    purger: Purger

    async def list(self, limit: int) -> Sequence[Candidate]:
        """Return candidates, oldest first."""
        return await self.database.rows(sql.query("orphan_candidates"), Candidate, limit=limit)

    async def report(self) -> OrphanReport:
        """Return how the hygiene of the store stands."""
        inventory = await self.purger.inventory()
        totals = await self.database.one(sql.query("orphan_totals"), OrphanTotals)
        runs = await self.database.rows(sql.query("orphan_runs"), RunRow, limit=SHOWN_RUNS)
        return OrphanReport(inventory, find_brake(inventory, self.purger.terms), totals, runs)

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


def open_hygiene(settings: Settings, store: Store, database: Database) -> Hygiene:
    """Return the hygiene of an installation."""
    terms = HygieneTerms(
        grace=timedelta(seconds=settings.orphan_grace_seconds),
        quarantine=timedelta(seconds=settings.orphan_quarantine_seconds),
        fresh=timedelta(seconds=settings.orphan_fresh_seconds),
        max_objects=settings.orphan_purge_limit,
        max_share=settings.orphan_max_share,
    )
    return Hygiene(database, Scanner(database, store, terms), Purger(database, store, terms))
