"""Numbers that were given and voided: of all streams, and of those that have the most."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from foja.engine import sql
from foja.engine.metrics import GAPS, STREAM_GAPS, set_total
from foja.engine.observe.metrics.reader import Rows

MAX_STREAMS = 10


class GapRow(NamedTuple):
    """A stream and its voided numbers, beside those of all streams."""

    entity_id: UUID
    gaps: int
    total: int


async def count_gaps(database: Rows, tenant: str | None) -> None:
    """Set the metrics from the database: sweepers, callers and SQL clients all void numbers."""
    rows = await database.rows(sql.query("most_gaps"), GapRow, tenant=tenant, limit=MAX_STREAMS)
    STREAM_GAPS.clear()
    set_total(GAPS, rows[0].total if rows else 0)
    for row in rows:
        STREAM_GAPS.labels(str(row.entity_id)).set(row.gaps)
