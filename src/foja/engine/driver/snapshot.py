"""Named queries in one read-only transaction: later changes are not visible in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, LiteralString

from psycopg import AsyncConnection, IsolationLevel
from psycopg.sql import Composed

from foja.engine import sql
from foja.engine.driver.database import maker
from foja.engine.driver.tenant_statement import UNNAMED, Row

# Rows in memory at a time: a body may have a megabyte.
PAGE_ROWS = 200


class Snapshot:
    """Runs named queries in one snapshot. `query` returns the statement of a name."""

    def __init__(
        self, connection: AsyncConnection[Any], query: Callable[[str], LiteralString | Composed] = sql.query
    ) -> None:
        self._connection, self._query, self._numbers = connection, query, count()

    async def rows(
        self, name: str, of: type[Row] = UNNAMED, /, **values: object
    ) -> AsyncGenerator[Row, None]:
        """Yield the rows of a query, few in memory at a time."""
        make = maker(of)
        async with self._connection.cursor(name=f"{name}_{next(self._numbers)}") as cursor:
            await cursor.execute(self._query(name), values)
            while page := await cursor.fetchmany(PAGE_ROWS):
                for row in page:
                    yield make(row)

    async def groups(
        self, name: str, key: Callable[[Any], object], of: type[Row] = UNNAMED, /, **values: object
    ) -> AsyncGenerator[list[Row], None]:
        """Yield the rows of a query in lists: those that follow one another and have the same key."""
        group: list[Row] = []
        async for row in self.rows(name, of, **values):
            if group and key(row) != key(group[0]):
                yield group
                group = []
            group.append(row)
        if group:
            yield group

    async def row(self, name: str, of: type[Row] = UNNAMED, /, **values: object) -> Row:
        """Return the only row of a query that always has one."""
        found = await (await self._connection.execute(self._query(name), values)).fetchone()
        assert found is not None
        return maker(of)(found)


@asynccontextmanager
async def read_only(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Run everything inside in one transaction that can write nothing, and close the connection."""
    async with connection:
        await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await connection.set_read_only(True)
        async with connection.transaction():
            yield
