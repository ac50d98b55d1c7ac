"""Named queries in one read-only transaction, of this database or of the tables of another program.

Later changes are not visible in it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg import sql as composed

from foja.engine import sql
from foja.engine.driver.database import maker, our_errors
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.sql.network import limit_network
from foja.errors import SetupFailed

# Rows in memory at a time: a body may have a megabyte.
PAGE_ROWS = 200


class Snapshot:
    """Runs named queries in one snapshot. `query` returns the statement of a name."""

    def __init__(
        self,
        connection: AsyncConnection[Any],
        query: Callable[[str], LiteralString | composed.Composed] = sql.query,
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


@dataclass(frozen=True, slots=True)
class ForeignTables:
    """The tables of one schema. Its name is quoted in the queries of the snapshot."""

    schema: str
    snapshot: Snapshot


@asynccontextmanager
async def open_foreign(url: str, schema: str) -> AsyncIterator[ForeignTables]:
    """Yield the tables of a schema at this address, as they are now. Nothing can be written."""
    try:
        connection = await AsyncConnection.connect(
            limit_network(url), application_name="foja", options="-c timezone=UTC"
        )
    except psycopg.Error as error:
        raise SetupFailed(f"the database of --from cannot be opened: {str(error).strip()}") from error

    def query(name: str) -> composed.Composed:
        return composed.SQL(sql.query(name)).format(schema=composed.Identifier(schema))

    with our_errors():
        async with read_only(connection):
            yield ForeignTables(schema, Snapshot(connection, query))
