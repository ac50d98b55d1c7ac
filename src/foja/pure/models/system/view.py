"""Candidates, runs and the report of orphans, as callers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

Action: TypeAlias = Literal["scan", "purge"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that nothing refers to and that is not purged."""

    path: str
    detected_at: datetime
    last_seen_reference: datetime | None
    size: int | None
    state: Annotated[str, "of its object; `stray` if no row explains it"]


@dataclass(slots=True)
class RunResult:
    """What a run did, or would do. Fields that the other action counts stay 0."""

    run: UUID
    action: Action
    started_at: datetime
    dry: Annotated[bool, "whether nothing was changed"]
    outcome: Literal["complete", "aborted"] = "complete"
    detail: str | None = None
    checked: int = 0
    staged: int = 0
    strays: int = 0
    missing: int = 0
    quarantined: int = 0
    unstaged: int = 0
    deleted: int = 0
    bytes: int = 0
    missing_objects: Annotated[Sequence[str], "the first of them"] = ()


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


@dataclass(frozen=True, slots=True)
class OrphanReport(OrphanTotals):
    """The state of orphans in the store. Ratios are parts of all that were staged."""

    rescued_ratio: Annotated[float, "candidates that something began to refer to"]
    false_positive_ratio: Annotated[float, "candidates that something had referred to before"]
    unstaged_ratio: Annotated[float, "the seed's ratio: all that were taken back"]
    armed: Annotated[bool, "whether purges may run by themselves"]
    armed_days: Annotated[int, "that count for arming"]
    needed_days: int
    brake: Annotated[str | None, "why a purge would be aborted"]
    objects: Annotated[int, "that are live"]
    due: Annotated[int, "candidates whose grace period is over"]
    quarantined: int
    last_scan: Annotated[datetime | None, "when a scan was complete last"]
    runs: list[RunRow]
