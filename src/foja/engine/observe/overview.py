"""What a person should know now: what waits for one, how jobs went today, the seed's closing criteria.

Everything is counted up to a limit, so that a page costs the same with a thousand jobs and with a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.ledger.ledger import Ledger

MOST: Final = 1001  # "1,000+" is as good as the exact number
FEW: Final = 101  # of what takes longer to count
NEWEST_JOBS: Final = 4_000
NEWEST_OF_TYPE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Overview:
    """What may need a person, counted up to `MOST`, documents up to `FEW`; and how far the log is."""

    dead_jobs: int
    approvals: int
    failed_documents: int
    oldest_ready_seconds: float
    paused: Sequence[str]
    halted: str | None
    published_at: datetime | None
    held: Sequence[str]
    now: datetime


@dataclass(frozen=True, slots=True)
class JobHour:
    """The jobs that ended in one hour."""

    hour: datetime
    ended: int
    failed: int
    p95_seconds: float


@dataclass(frozen=True, slots=True)
class Criterion:
    """One of the seed's criteria for closing a phase: its value, the most it may be, whether it is met."""

    phase: str
    criterion: str
    value: Decimal | None
    threshold: Decimal
    met: bool


@dataclass(frozen=True, slots=True)
class JobTypeState:
    """A job type, and whether it is paused."""

    type: str
    domain: str
    paused: bool


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A published checkpoint, and how many cosigners signed it."""

    origin: int
    log: str
    size: int
    root: str
    published_at: datetime
    cosignatures: int


async def read_overview(database: Database, tenant: str) -> Overview:
    """Return what may need a person of this tenant. The role of `database` works for all tenants."""
    values = {"tenant": tenant, "most": MOST, "few": FEW}
    return await database.one(sql.query("overview_counts"), Overview, **values)


async def read_job_hours(ledger: Ledger) -> list[JobHour]:
    """Return the jobs that ended within a day by hour, as far as they are among the newest."""
    return await ledger.ask("job_hours", JobHour, most=NEWEST_JOBS)


async def read_criteria(database: Database) -> list[Criterion]:
    """Return the closing criteria. They are computed from all images: seconds, if there are millions."""
    return await database.rows(sql.query("closing_criteria"), Criterion)


async def count_jobs(ledger: Ledger) -> dict[str, int]:
    """Return how many jobs are in each state, each up to `FEW`."""
    return dict(await ledger.ask("job_counts", most=FEW))


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list shows: in a state, of a type, of a stream. None: any."""

    state: str | None = None
    type: str | None = None
    entity: UUID | None = None


async def find_jobs(
    ledger: Ledger, wanted: JobFilter, *, before: int | None = None, limit: int
) -> list[int] | None:
    """Return the ids of the newest jobs of a filter, without reading those in other states.

    A type is looked for among the `NEWEST_OF_TYPE` jobs only. None: there is no filter.
    """
    values = {"state": wanted.state, "type": wanted.type, "limit": limit}
    if wanted.entity:
        await ledger.ask("queue_woken")
        rows = await ledger.ask("jobs_of_stream", entity=wanted.entity, **values)
    elif wanted.state:
        rows = await ledger.ask("jobs_in_state", before=before, newest=NEWEST_OF_TYPE, **values)
    elif wanted.type:
        rows = await ledger.ask("jobs_of_type", type=wanted.type, newest=NEWEST_OF_TYPE, limit=limit)
    else:
        return None
    return [job for (job,) in rows]


async def read_job_types(database: Database) -> list[JobTypeState]:
    """Return every job type."""
    return await database.rows(sql.query("job_type_states"), JobTypeState)


async def read_checkpoints(database: Database, limit: int) -> list[CheckpointRow]:
    """Return the newest published checkpoints."""
    return await database.rows(sql.query("recent_checkpoints"), CheckpointRow, limit=limit)
