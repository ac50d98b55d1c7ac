"""Tables of another program, read in one read-only transaction."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg import sql as composed

from foja.engine import sql
from foja.engine.driver.database import our_errors
from foja.engine.sql.network import limit_network
from foja.errors import SetupFailed

PAGE_ROWS = 500


class ForeignTables:
    """Runs named queries about the tables of one schema. Its name is quoted."""

    def __init__(self, connection: AsyncConnection[Any], schema: str) -> None:
        self.schema = schema
        self._connection, self._numbers = connection, count()

    async def rows(self, name: str, **values: object) -> AsyncGenerator[tuple[Any, ...], None]:
        """Yield the rows of a query, few in memory at a time."""
        async with self._connection.cursor(name=f"{name}_{next(self._numbers)}") as cursor:
            await cursor.execute(self._query(name), {"schema": self.schema, **values})
            while page := await cursor.fetchmany(PAGE_ROWS):
                for row in page:
                    yield row

    async def row(self, name: str) -> tuple[Any, ...]:
        """Return the only row of a query that always has one."""
        cursor = await self._connection.execute(self._query(name), {"schema": self.schema})
        found: tuple[Any, ...] | None = await cursor.fetchone()
        assert found is not None
        return found

    def _query(self, name: str) -> composed.Composed:
        return composed.SQL(sql.query(name)).format(schema=composed.Identifier(self.schema))


@asynccontextmanager
async def open_foreign(url: str, schema: str) -> AsyncIterator[ForeignTables]:
    """Yield the tables of a schema at this address, as they are now. Nothing can be written."""
    try:
        connection = await AsyncConnection.connect(
            limit_network(url), application_name="foja", options="-c timezone=UTC"
        )
    except psycopg.Error as error:
        raise SetupFailed(f"the database of --from cannot be opened: {str(error).strip()}") from error
    with our_errors():
        async with connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
                yield ForeignTables(connection, schema)
