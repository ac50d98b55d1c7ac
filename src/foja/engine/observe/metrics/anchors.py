"""Gauges of the anchors: held, waiting, pending, their age and what they can be paid with."""

from __future__ import annotations

from foja.engine import sql
from foja.engine.anchors.admin import NetworkRow
from foja.engine.metrics import (
    ANCHOR_BALANCE,
    ANCHOR_PENDING_SECONDS,
    ANCHOR_WINDOW,
    ANCHORS_HELD,
    ANCHORS_PENDING,
    ANCHORS_WAITING,
)
from foja.engine.observe.metrics.reader import Rows
from foja.engine.settings import Settings

GAUGES = (
    ANCHORS_HELD,
    ANCHORS_WAITING,
    ANCHORS_PENDING,
    ANCHOR_PENDING_SECONDS,
    ANCHOR_WINDOW,
    ANCHOR_BALANCE,
)


async def gauge_anchors(database: Rows, settings: Settings) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in GAUGES:
        gauge.clear()
    for row in await database.rows(sql.query("anchor_networks"), NetworkRow):
        network = row.network
        ANCHORS_HELD.labels(network).set(row.held is not None)
        ANCHORS_WAITING.labels(network).set(row.waiting)
        ANCHORS_PENDING.labels(network).set(row.pending)
        ANCHOR_WINDOW.labels(network).set(settings.networks[network].window_seconds)
    for network, seconds, batches in await database.rows(sql.query("anchor_ages")):
        ANCHOR_PENDING_SECONDS.labels(network).set(seconds)
        if batches is not None:
            ANCHOR_BALANCE.labels(network).set(batches)
