"""Read for metrics: every statement within a limit of time, so that no scrape holds the database."""

from __future__ import annotations

import asyncio
from typing import Any, LiteralString, Protocol

from foja import sql
from foja.driver.database import Database


class Rows(Protocol):
    """What runs one statement and returns its rows."""

    async def rows(self, query: LiteralString, **values: object) -> list[tuple[Any, ...]]: ...


class TimedReader:
    """Runs statements on a database that end after some seconds."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database, self._timeout = database, f"{seconds * 1000:.0f}ms"

    async def rows(self, query: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        """Return the rows, or raise `LedgerUnavailable` if the time is over."""
        async with self._database.connection() as connection, connection.transaction():
            try:
                await connection.execute(sql.query("limit_time"), {"timeout": self._timeout})
                return await (await connection.execute(query, values)).fetchall()
            except asyncio.CancelledError:
                connection.pgconn.finish()  # the statement may still run: psycopg could not roll it back
                raise
