"""Metrics of the store's hygiene: candidates, runs, missing objects, rescues."""

from __future__ import annotations

from foja import sql
from foja.metrics import (
    OBJECTS_MISSING,
    ORPHAN_CANDIDATES,
    ORPHAN_FALSE_POSITIVES,
    ORPHAN_RUNS,
    ORPHAN_SCAN_AGE,
    ORPHANS,
    ORPHANS_RESCUED_LATE,
    set_total,
)
from foja.observe.metrics.reader import Rows

OUTCOMES = ("staged", "rescued", "false_positive", "quarantined", "deleted")


async def gauge_objects(database: Rows, grace_seconds: float) -> None:
    """Set the metrics from the runs that were recorded."""
    [(candidates, missing, scan_age, false_positives, late, *totals)] = await database.rows(
        sql.query("orphan_gauges"), grace=grace_seconds
    )
    ORPHAN_CANDIDATES.set(candidates)
    OBJECTS_MISSING.set(missing)
    ORPHAN_SCAN_AGE.set(scan_age)
    ORPHAN_FALSE_POSITIVES.set(false_positives)
    ORPHANS_RESCUED_LATE.set(late)
    for outcome, total in zip(OUTCOMES, totals, strict=True):
        set_total(ORPHANS.labels(outcome), total)
    for action, outcome, count in await database.rows(sql.query("orphan_run_totals")):
        set_total(ORPHAN_RUNS.labels(action, outcome), count)
