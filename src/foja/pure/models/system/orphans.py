"""When orphans may be purged: the brakes of a run, and what arms the automatic purge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = timedelta(days=1)
ARMED_DAYS = 7
FEW = 10  # so many may always go, however large their share is
MAX_SCAN_AGE = timedelta(days=2)
CLOCK_TOLERANCE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class OrphanTerms:
    """How long an orphan is left alone, and how much may go in one run."""

    grace: timedelta = 7 * DAY
    quarantine: timedelta = DAY
    fresh: timedelta = DAY  # an object that is younger may still wait for its event
    max_objects: int = 1000
    max_share: float = 0.1

    @property
    def days(self) -> int:
        """The days with a complete scan that must follow the staging: a jump of the clock brings none."""
        return max(0, self.grace // DAY - 1)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known before a purge, by the database's clock."""

    now: datetime
    objects: int  # that are live
    due: int  # candidates whose grace period is over
    quarantined: int
    days: int  # that count for arming
    last_scan: datetime | None  # when a scan was complete last
    last_run: datetime | None  # when any run ended last

    @property
    def armed(self) -> bool:
        """Whether purges may run by themselves."""
        return self.days >= ARMED_DAYS


def find_brake(inventory: Inventory, terms: OrphanTerms) -> str | None:
    """Return why nothing may be purged now, or None."""
    if inventory.last_run and inventory.last_run > inventory.now + CLOCK_TOLERANCE:
        return f"the clock went back: the last run ended at {inventory.last_run.isoformat()}"
    if terms.days and (inventory.last_scan is None or inventory.now - inventory.last_scan > MAX_SCAN_AGE):
        last = inventory.last_scan.isoformat() if inventory.last_scan else "never"
        return f"the last complete scan is too old, or the clock jumped (last: {last}); scan first"
    if inventory.due > max(FEW, terms.max_share * inventory.objects):
        share = f"{inventory.due:,} of {inventory.objects:,} objects"
        return f"{share} are due, more than the share of {terms.max_share:g} that may go"
    return None


def find_jump(elapsed: timedelta, by_database: timedelta) -> str | None:
    """Return that the database's clock jumped during a run, or None."""
    if abs(by_database - elapsed) <= CLOCK_TOLERANCE:
        return None
    return f"the clock jumped: the run took {elapsed}, and {by_database} by the database's clock"
