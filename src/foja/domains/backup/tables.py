"""The database of a backup: the rows of Foja's own tables, copied out of and into one transaction.

The schema is not copied: the schema steps build it. So a backup does not depend on the version of PostgreSQL,
and needs none of its programs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString, cast

from psycopg import AsyncConnection, IsolationLevel
from psycopg import sql as composed

from foja.domains.backup import description as d
from foja.domains.backup.archive import CHUNK, Part
from foja.engine import sql
from foja.engine.driver.database import our_errors
from foja.engine.sql.network import limit_network
from foja.engine.sql.steps import Step, read_steps
from foja.errors import Malformed, SetupFailed

Row = tuple[Any, ...]
PART_BYTES = 4 << 20


class Transfer:
    """One transaction that copies tables."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._tables: dict[str, d.Table] = {}
        self._foreign_keys: list[Row] = []
        self._forced: list[str] = []

    async def rows(self, name: str, /, **values: object) -> list[Row]:
        """Return the rows of a named query."""
        return await (await self._connection.execute(sql.query(name), values)).fetchall()

    async def tables(self) -> tuple[d.Table, ...]:
        """Return Foja's tables with the columns to copy."""
        rows = await self.rows("own_tables", public=_public_names())
        return tuple(d.Table(name=name, columns=tuple(columns)) for name, columns in rows)

    async def others(self) -> list[str]:
        """Return the names of tables that are not Foja's."""
        return [name for (name,) in await self.rows("other_tables", public=_public_names())]

    async def sequences(self) -> tuple[d.Sequence, ...]:
        """Return the sequences of Foja's tables."""
        rows = await self.rows("own_sequences")
        return tuple(d.Sequence(name=name, value=value, called=called) for name, value, called in rows)

    async def copy_out(self, table: d.Table) -> AsyncIterator[bytes]:
        """Yield the rows of a table in parts of some megabytes; no row is in two of them."""
        block = bytearray()
        async with self._connection.cursor() as cursor, cursor.copy(_copy("copy_out", table)) as copy:
            async for line in copy:
                block += line
                if len(block) >= PART_BYTES:
                    yield bytes(block)
                    block.clear()
        if block:
            yield bytes(block)

    async def build(self, steps: Sequence[d.SchemaStep]) -> None:
        """Build the schema of a backup, without the rows that its steps insert."""
        taken = [name for (name,) in await self.rows("taken_names", names=_public_names())]
        if taken:
            raise SetupFailed(f"the database has {', '.join(taken)}; restore into an empty database")
        await self._connection.execute(sql.query("create_migration_table"))
        for step in _known(steps):
            await self._connection.execute(step.up.encode())
            values = {"number": step.number, "name": step.name, "digest": step.digest}
            await self._connection.execute(sql.query("record_migration"), values)

    async def begin(self, found: d.Description) -> None:
        """Make the tables ready to be loaded, in any order: two of them may refer to each other."""
        expected = await self.tables()
        if found.tables != expected:
            raise Malformed("the tables of the backup are not those of its schema; it is damaged")
        self._tables = {table.name: table for table in expected}
        self._foreign_keys = await self.rows("foreign_keys", tables=list(self._tables))
        for table, name, _ in self._foreign_keys:
            await self._execute("drop_foreign_key", table, name=composed.Identifier(name))
        self._forced = [name for (name,) in await self.rows("forced_tables", tables=list(self._tables))]
        for name in self._forced:  # rows cannot be copied into a table whose owner is subject to its policies
            await self._execute("unforce_policies", name)
        for name in self._tables:
            await self._execute("clear_table", name)

    async def copy_in(self, part: Part) -> None:
        """Load rows of one table."""
        table = self._tables.get(part.name.split("/")[1])
        if table is None:
            raise Malformed(f"the backup has rows of an unknown table: {part.name}")
        async with self._connection.cursor() as cursor, cursor.copy(_copy("copy_in", table)) as copy:
            while chunk := part.read(CHUNK):
                await copy.write(chunk)

    async def finish(self, found: d.Description) -> None:
        """Check that the rows fit together, continue the sequences, and begin a new epoch."""
        for name in self._forced:
            await self._execute("force_policies", name)
        for table, name, definition in self._foreign_keys:
            text = composed.SQL(cast(LiteralString, definition))  # as the database itself writes it
            await self._execute("add_foreign_key", table, name=composed.Identifier(name), definition=text)
        for sequence in found.sequences:
            await self.rows("set_sequence", **sequence.model_dump())
        for name in self._tables:
            await self._execute("analyze_table", name)
        await self._connection.execute(sql.query("renew_epoch"))

    async def _execute(self, query: str, table: str, **names: composed.Composable) -> None:
        text = composed.SQL(sql.query(query)).format(table=_identifier(table), **names)
        await self._connection.execute(text)


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Transfer]:
    """Open one snapshot of a database; no object is purged while it is open."""
    async with _transaction(url, IsolationLevel.REPEATABLE_READ) as connection:
        await connection.execute(sql.query("hold_purges"))  # before the snapshot, which the first query takes
        await connection.execute(sql.query("prepare_transfer"))
        hidden = await (await connection.execute(sql.query("hidden_tables"))).fetchall()
        if hidden:
            raise SetupFailed(
                f"row level security hides rows of {', '.join(name for (name,) in hidden)} from this login; "
                "back up as the owner of the tables, after `foja migrate`"
            )
        yield Transfer(connection)


@asynccontextmanager
async def writing(url: str) -> AsyncIterator[Transfer]:
    """Open a transaction that builds and fills a database: all of it, or nothing."""
    async with _transaction(url, IsolationLevel.READ_COMMITTED) as connection:
        await connection.execute(sql.query("prepare_transfer"))
        yield Transfer(connection)


@asynccontextmanager
async def _transaction(url: str, level: IsolationLevel) -> AsyncIterator[AsyncConnection]:
    with our_errors():
        async with await AsyncConnection.connect(
            limit_network(url), autocommit=True, prepare_threshold=None
        ) as connection:
            await connection.set_isolation_level(level)
            async with connection.transaction():
                yield connection


def _known(steps: Sequence[d.SchemaStep]) -> list[Step]:
    """Return the steps with these digests, or raise `SetupFailed`: another version of Foja wrote them."""
    known = read_steps()
    recorded = [(step.number, step.name, step.digest) for step in steps]
    if recorded != [(step.number, step.name, step.digest) for step in known[: len(steps)]]:
        raise SetupFailed(
            "the schema of this backup has steps that this Foja does not know; "
            "restore it with the version that wrote it, then update"
        )
    return known[: len(steps)]


def _public_names() -> list[str]:
    return sorted({name for step in read_steps() for name in step.public_names})


def _copy(name: str, table: d.Table) -> composed.Composed:
    columns = composed.Composed([composed.Identifier(each) for each in table.columns]).join(", ")
    return composed.SQL(sql.query(name)).format(table=_identifier(table.name), columns=columns)


def _identifier(name: str) -> composed.Identifier:
    return composed.Identifier(*name.split(".", 1))
