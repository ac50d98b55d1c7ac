"""Gauges of the database server and of the disk below the home."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import NamedTuple

from foja.engine import sql
from foja.engine.metrics import (
    ALERTS_FIRING,
    DATABASE_BYTES,
    DATABASE_CONNECTIONS,
    DATABASE_IDLE,
    DATABASE_MAX_CONNECTIONS,
    DATABASE_TRANSACTION_AGE,
    DISK_BYTES,
    DISK_FREE,
    HTTP_FAILURES,
    HTTP_FAILURES_DAY,
    set_total,
)
from foja.engine.observe.metrics.reader import Rows


class ServerRow(NamedTuple):
    """How the database server stands."""

    connections: int
    connection_limit: int
    idle_seconds: float
    bytes: int
    transaction_age: float


async def gauge_server(database: Rows) -> None:
    """Set the gauges of connections, idle transactions, size and age of the database."""
    [found] = await database.rows(sql.query("database_state"), ServerRow)
    DATABASE_CONNECTIONS.set(found.connections)
    DATABASE_MAX_CONNECTIONS.set(found.connection_limit)
    DATABASE_IDLE.set(found.idle_seconds)
    DATABASE_BYTES.set(found.bytes)
    DATABASE_TRANSACTION_AGE.set(found.transaction_age)


async def count_failures(database: Rows) -> None:
    """Set the failures of HTTP routes, of all processes and since the installation began."""
    HTTP_FAILURES_DAY.set(0)
    day = 0
    for route, total, of_day in await database.rows(sql.query("http_failures")):
        set_total(HTTP_FAILURES.labels(route), total)
        day += of_day
    HTTP_FAILURES_DAY.set(day)


async def gauge_alerts(database: Rows) -> None:
    """Set which alerts of the built-in evaluation fire."""
    ALERTS_FIRING.clear()
    for alert, count in await database.rows(sql.query("alerts_firing")):
        ALERTS_FIRING.labels(alert).set(count)


async def gauge_disk(home: Path) -> None:
    """Set the space of the disk that has the home: the keys, the embedded database, the local store."""
    usage = await asyncio.to_thread(shutil.disk_usage, home)
    DISK_FREE.set(usage.free)
    DISK_BYTES.set(usage.total)
