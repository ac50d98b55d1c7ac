"""One reading of all metrics: each part within its time, cached, and independent of the others.

Every statement is within a limit of time, so that no scrape holds the database.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import LiteralString, Protocol

from foja.engine.driver.database import Database
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.faults import Watch
from foja.engine.metrics import PART_FAILED, PART_SECONDS
from foja.errors import FojaError

# A part that takes long is read seldom: it never uses more than this share of a connection's time.
MAX_SHARE = 0.05


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


@dataclass(slots=True)
class Part:
    """Metrics that are read together, and when they were read last."""

    name: str
    read: Callable[[], Awaitable[None]]
    asks_database: bool = True
    due: float = 0.0
    failed: bool = False
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = Watch(f"metrics, {self.name}", rare=True)


class Scrape:
    """Reads the parts that are due. Scrapes that come at the same time share one reading."""

    def __init__(
        self, parts: Sequence[Part], cache_seconds: float, check_database: Callable[[], Awaitable[None]]
    ) -> None:
        """With a cache of 0 seconds every scrape reads everything.

        `check_database` raises an error if the database does not answer; then nothing else asks it.
        """
        self._parts, self._cache, self._check_database = parts, cache_seconds, check_database
        self._lock = asyncio.Lock()

    async def read(self) -> None:
        """Bring the metrics up to date. Parts that cannot be read are marked so; the others are right."""
        async with self._lock:
            due = [part for part in self._parts if time.monotonic() >= part.due]
            silent: FojaError | None = None
            if any(part.asks_database for part in due):
                try:
                    await self._check_database()
                except FojaError as error:
                    silent = error
            for part in due:
                await self._read(part, silent)

    @property
    def failed(self) -> frozenset[str]:
        """The names of the parts that could not be read last time."""
        return frozenset(part.name for part in self._parts if part.failed)

    async def _read(self, part: Part, silent: FojaError | None) -> None:
        began = time.monotonic()
        try:
            if silent and part.asks_database:
                raise silent
            await part.read()
            part.failed = False
            part.watch.worked()
        except (FojaError, OSError) as error:
            part.failed = True
            part.watch.failed(error)
        seconds = time.monotonic() - began
        PART_FAILED.labels(part.name).set(part.failed)
        PART_SECONDS.labels(part.name).set(seconds)
        if self._cache:
            part.due = time.monotonic() + max(self._cache, seconds / MAX_SHARE)
