"""A read-only snapshot of the whole database. Later changes are not visible in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from psycopg import IsolationLevel

from foja.engine import sql
from foja.engine.driver.database import Connection, connect, explained, maker, our_errors
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.errors import RoleMissing, SchemaDiffers, SetupFailed, WrongSource

READER = "foja_reader"
# Rows in memory at a time: a body may have a megabyte.
PAGE_ROWS = 200


class Snapshot:
    """Runs named queries in one snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._numbers = connection, count()

    async def rows(
        self, name: str, of: type[Row] = UNNAMED, /, **values: object
    ) -> AsyncGenerator[Row, None]:
        """Yield the rows of a query, few in memory at a time."""
        make = maker(of)
        async with self._connection.cursor(name=f"{name}_{next(self._numbers)}") as cursor:
            await cursor.execute(sql.query(name), values)
            while page := await cursor.fetchmany(PAGE_ROWS):
                for row in page:
                    yield make(row)

    async def row(self, name: str, of: type[Row] = UNNAMED, /, **values: object) -> Row:
        """Return the only row of a query that always has one."""
        found = await (await self._connection.execute(sql.query(name), values)).fetchone()
        assert found is not None
        return maker(of)(found)


@asynccontextmanager
async def snapshot(url: str) -> AsyncIterator[Snapshot]:
    """Open a read-only snapshot of a database, as a role that sees every row."""
    try:
        connection = await connect(url, READER, answer_seconds=None)  # one query may read all events
        with our_errors():
            async with connection:
                await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                await connection.set_read_only(True)
                async with connection.transaction():
                    moment = Snapshot(connection)
                    if not (await moment.row("has_ledger"))[0]:
                        raise SetupFailed(
                            "this database has no ledger; run `foja migrate`, or correct FOJA_DATABASE_URL"
                        )
                    yield moment
    except (SchemaDiffers, WrongSource, RoleMissing) as error:
        raise await explained(url, error) from error.__cause__
