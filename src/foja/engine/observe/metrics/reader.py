"""Read for metrics: every statement within a limit of time, so that no scrape holds the database."""

from __future__ import annotations

from typing import LiteralString, Protocol

from foja.engine.driver.database import Database
from foja.engine.driver.tenant_statement import UNNAMED, Row


class Rows(Protocol):
    """What runs one statement and returns its rows."""

    async def rows(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]: ...


class TimedReader:
    """Runs statements on a database that end after some seconds."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database, self._seconds = database, seconds

    async def rows(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Return the rows, or raise `LedgerUnavailable` if the time is over."""
        return await self._database.rows_within(self._seconds, query, of, **values)
