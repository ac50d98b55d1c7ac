"""Tables of another program, read in one read-only transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg import AsyncConnection
from psycopg import sql as composed

from foja.engine import sql
from foja.engine.driver.database import our_errors
from foja.engine.driver.snapshot import Snapshot, read_only
from foja.engine.sql.network import limit_network
from foja.errors import SetupFailed


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
