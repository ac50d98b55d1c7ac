"""Run one statement for one tenant, or within a time, in one round trip and in one transaction.

The tenant or the time is set and the statement is run in one group of libpq's pipeline mode, which
is one transaction up to its sync. So the setting ends with the statement, however that ends, and a
connection that is used again acts for none. psycopg's own pipelines do the same at four times the
cost, so the group is sent with `psycopg.pq`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, Generic, TypeAlias

import psycopg
from psycopg import capabilities
from psycopg.abc import Buffer, PQGen
from psycopg.abc import Transformer as Loading
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait
from typing_extensions import TypeVar

from foja.engine.driver.connection import Connection
from foja.engine.driver.encoding import TEXT_OID
from foja.engine.driver.garbage import MANY, collector_paused
from foja.engine.sql import query

GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)
CHUNKED = capabilities.has_stream_chunked()  # libpq 17 and later
MAX_PREPARED = 500  # of one connection; what comes later is parsed every time
PLACEHOLDER = re.compile(r"%(?:\((\w+)\)([sb])|%)")
FORMATS = {"s": PyFormat.AUTO, "b": PyFormat.BINARY}
Row = TypeVar("Row", default=tuple[Any, ...])
UNNAMED: Any = tuple  # the class of rows that are unpacked where they are read
Key: TypeAlias = tuple[bytes, tuple[int, ...]]  # a statement and the types of its values


@dataclass(frozen=True, slots=True)
class Group:
    """A statement with its values as they are sent."""

    key: Key
    values: Sequence[Buffer | None]
    formats: Sequence[Format] | None = None
    result: Format = Format.TEXT


class TenantStatements:
    """The statements of one connection, each prepared at its first use."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._pgconn = connection, connection.pgconn
        self._transformer = Transformer(connection)
        self._names: dict[Key, bytes] = {}  # of what is prepared
        self._numbers = count()

    async def fetch(
        self,
        tenant: str,
        statement: str,
        values: Mapping[str, object],
        make: Callable[[Sequence[Any]], Row],
        *,
        binary: bool,
    ) -> list[Row]:
        """Run a statement for a tenant and return what `make` makes of its rows."""
        first = Group(ACT_FOR, [tenant.encode()])
        return await self._fetch(first, statement, values, make, binary=binary)

    async def fetch_within(
        self,
        seconds: float,
        statement: str,
        values: Mapping[str, object],
        make: Callable[[Sequence[Any]], Row],
    ) -> list[Row]:
        """Run a statement that fails after some seconds, and return what `make` makes of its rows."""
        first = Group(LIMIT_TIME, [b"%.0fms" % (seconds * 1000)])
        return await self._fetch(first, statement, values, make, binary=False)

    async def _fetch(
        self,
        first: Group,
        statement: str,
        values: Mapping[str, object],
        make: Callable[[Sequence[Any]], Row],
        *,
        binary: bool,
    ) -> list[Row]:
        sql, names, formats = positional(statement)
        dumped = self._transformer.dump_sequence([values[name] for name in names], formats)
        key = sql, self._transformer.types or ()
        group = Group(key, dumped, self._transformer.formats, Format(binary))
        rows = _Rows(self._transformer, make)
        await self._run(first, group, rows)
        return rows.finish()

    async def _run(self, first: Group, group: Group, rows: _Rows[Any]) -> None:
        """Send one group and load the rows of its last statement, or raise the first error."""
        self._pgconn.enter_pipeline_mode()
        try:
            sent = [*self._send(first), *self._send(group)]
            self._pgconn.pipeline_sync()
            chunked = len(sent) - 1 if CHUNKED and group.result == Format.BINARY else None
            results = await self._connection.wait(_results(self._pgconn, chunked, rows))
        finally:
            with suppress(psycopg.Error):  # the connection is broken, and the pool drops it
                self._pgconn.exit_pipeline_mode()
        for prepared, result in zip(sent, results, strict=False):
            if result.status not in GOOD:
                raise psycopg.errors.error_from_result(result, self._transformer.encoding)
            if prepared:
                self._names.setdefault(*prepared)
        rows.load(results[-1])

    def _send(self, group: Group) -> Iterator[tuple[Key, bytes] | None]:
        """Send a statement, prepared first if it is new; yield for each message what it prepares."""
        name = self._names.get(group.key)
        if name is None and len(self._names) >= MAX_PREPARED:
            sql, types = group.key
            self._pgconn.send_query_params(sql, group.values, types, group.formats, group.result)
            yield None
            return
        if name is None:
            name = b"foja_%d" % next(self._numbers)
            self._pgconn.send_prepare(name, *group.key)
            yield group.key, name
        self._pgconn.send_query_prepared(name, group.values, group.formats, group.result)
        yield None


class _Rows(Generic[Row]):
    """The rows of a result, made as they arrive: the server continues, and no result is kept whole."""

    def __init__(self, transformer: Loading, make: Callable[[Sequence[Any]], Row]) -> None:
        self._transformer, self._make = transformer, make
        self._made: list[Row] = []
        self._error: Exception | None = None

    def load(self, result: PGresult) -> None:
        """Make these rows. An error is kept for `finish`: what follows has to be received first."""
        if self._error or not result.ntuples:
            return
        self._transformer.set_pgresult(result, set_loaders=not self._made)
        try:
            with collector_paused() if result.ntuples >= MANY else nullcontext():
                self._made += self._transformer.load_rows(0, result.ntuples, self._make)
        except Exception as error:
            self._error = error

    def finish(self) -> list[Row]:
        """Return all that was made."""
        if self._error:
            raise self._error
        return self._made


def _results(pgconn: PGconn, chunked: int | None, rows: _Rows[Any]) -> PQGen[list[PGresult]]:
    """Send what is buffered and return the results up to the sync.

    The rows of the statement at the place `chunked` are loaded while they arrive; its result has none then.
    """
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            pgconn.consume_input()
    results: list[PGresult] = []
    ended = 0
    while True:
        while pgconn.is_busy():
            yield Wait.R
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:  # the end of one statement
            if pgconn.status != ConnStatus.OK:
                raise psycopg.OperationalError("the connection is lost")
            ended += 1
            if ended == chunked:
                pgconn.set_chunked_rows_mode(MANY)
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            return results
        if result.status == ExecStatus.TUPLES_CHUNK:
            rows.load(result)
        else:
            results.append(result)


@lru_cache
def positional(statement: str) -> tuple[bytes, tuple[str, ...], tuple[PyFormat, ...]]:
    """Return a statement with `$1` for its first name, the names in order, and how each value is sent."""
    formats: dict[str, PyFormat] = {}

    def number(found: re.Match[str]) -> str:
        if found[1] is None:
            return "%"
        formats.setdefault(found[1], FORMATS[found[2]])
        return f"${[*formats].index(found[1]) + 1}"

    sql = PLACEHOLDER.sub(number, statement)
    return sql.encode(), tuple(formats), tuple(formats.values())


ACT_FOR, LIMIT_TIME = ((positional(query(name))[0], (TEXT_OID,)) for name in ("act_for", "limit_time"))
