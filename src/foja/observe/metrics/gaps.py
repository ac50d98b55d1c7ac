"""Numbers that were given and voided: of all streams, and of those that have the most."""

from __future__ import annotations

from foja import sql
from foja.metrics import GAPS, STREAM_GAPS, set_total
from foja.observe.metrics.reader import Rows

MAX_STREAMS = 10


async def count_gaps(database: Rows, tenant: str | None) -> None:
    """Set the metrics from the database: sweepers, callers and SQL clients all void numbers."""
    rows = await database.rows(sql.query("most_gaps"), tenant=tenant, limit=MAX_STREAMS)
    STREAM_GAPS.clear()
    set_total(GAPS, rows[0][2] if rows else 0)
    for entity_id, count, _ in rows:
        STREAM_GAPS.labels(str(entity_id)).set(count)
