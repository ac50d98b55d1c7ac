"""Metrics of orphans: candidates, runs, missing objects, rescues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foja.engine import sql
from foja.engine.metrics import (
    OBJECTS_MISSING,
    ORPHAN_CANDIDATES,
    ORPHAN_FALSE_POSITIVES,
    ORPHAN_RUNS,
    ORPHAN_SCAN_AGE,
    ORPHANS,
    ORPHANS_RESCUED_LATE,
    set_total,
)
from foja.engine.observe.metrics.reader import Rows

OUTCOMES = ("staged", "rescued", "false_positive", "quarantined", "deleted")


class OrphanRow(NamedTuple):
    """Candidates, what the last scan missed, what was taken back in seven days, and what all runs did."""

    candidates: int
    missing: int
    scan_age: float
    false_positives: int
    rescued_late: int
    totals: Sequence[int]  # by outcome


async def gauge_objects(database: Rows, grace_seconds: float) -> None:
    """Set the metrics from the runs that were recorded."""
    [found] = await database.rows(sql.query("orphan_gauges"), OrphanRow, grace=grace_seconds)
    ORPHAN_CANDIDATES.set(found.candidates)
    OBJECTS_MISSING.set(found.missing)
    ORPHAN_SCAN_AGE.set(found.scan_age)
    ORPHAN_FALSE_POSITIVES.set(found.false_positives)
    ORPHANS_RESCUED_LATE.set(found.rescued_late)
    for outcome, total in zip(OUTCOMES, found.totals, strict=True):
        set_total(ORPHANS.labels(outcome), total)
    for action, outcome, count in await database.rows(sql.query("orphan_run_totals")):
        set_total(ORPHAN_RUNS.labels(action, outcome), count)
