"""Gauges of the anchors: held, waiting, pending."""

from __future__ import annotations

from foja import sql
from foja.driver.database import Database
from foja.metrics import ANCHORS_HELD, ANCHORS_PENDING, ANCHORS_WAITING


async def gauge_anchors(database: Database) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in (ANCHORS_HELD, ANCHORS_WAITING, ANCHORS_PENDING):
        gauge.clear()
    for network, _, held, _, waiting, pending, _ in await database.rows(sql.query("anchor_networks")):
        ANCHORS_HELD.labels(network).set(held is not None)
        ANCHORS_WAITING.labels(network).set(waiting)
        ANCHORS_PENDING.labels(network).set(pending)
