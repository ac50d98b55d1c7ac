"""The database's clock: the reference for tokens, deadlines and verdicts."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from foja.engine import sql
from foja.engine.driver.database import Database

REFRESH_SECONDS = 10.0


class DatabaseClock:
    """Returns the database's time; it is asked every few seconds, and counted from there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked: tuple[datetime, float] | None = None

    async def now(self) -> datetime:
        """Return the time now, in UTC, by the database's clock."""
        if self._asked is None or time.monotonic() - self._asked[1] > REFRESH_SECONDS:
            self._asked = await self._database.value(sql.query("clock")), time.monotonic()
        told, at = self._asked
        return told + timedelta(seconds=time.monotonic() - at)
