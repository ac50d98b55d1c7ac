"""Connections that act as one role, and the translation of database errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from copy import copy
from typing import Any, LiteralString

import orjson
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format

from foja import errors
from foja.engine.driver.connection import ANSWER_SECONDS, open_connection
from foja.engine.driver.connection import Connection as Connection
from foja.engine.driver.encoding import Packed
from foja.engine.driver.pool import Pool
from foja.engine.driver.refusals import OnRedis as OnRedis
from foja.engine.driver.refusals import refusal as refusal
from foja.engine.driver.tenant_statement import UNNAMED, Row, TenantStatements
from foja.engine.sql import query
from foja.engine.sql.migrate import difference

LOGIN_REFUSED = re.compile(
    r'authentication failed|no password supplied|no pg_hba\.conf entry|(role|database) ".*" does not exist'
    r"|is not permitted to log in|permission denied for database"
)
RETRYABLE = {"40001", "40P01"}
STANDBY = {
    "25006",
    "55000",
}  # read-only, and "recovery is in progress": the only use of 55000 in our statements
MISSING = {"3F000", "42P01", "42703", "42883"}  # a schema, table, column or function
OTHER_ANSWERS = 2  # how much longer than an append a page of rows or a batch of jobs may take
POOLER_PROBES = 3
LOCK_SECONDS = 0.5  # longer waits are repeated, apart from what does not wait
RAISED = (psycopg.Error, OSError, UnicodeError)


class Locked(errors.Busy):
    """Another session holds a lock that this statement needs."""


class AlreadyRecorded(errors.Busy):
    """An event with this id exists; `replay` checks whether it is the same event."""


def translate(error: Exception) -> errors.FojaError:
    """Return our error for an error of psycopg. No error is mapped to "not found"."""
    if isinstance(error, psycopg.Error) and error.sqlstate:
        return _from_sqlstate(error, error.sqlstate)
    if isinstance(error, psycopg.DataError | UnicodeError):
        return errors.NotCanonical(f"the database cannot store this text ({error}); send valid Unicode")
    if isinstance(error, psycopg.OperationalError) and _is_login_refused(error):
        return errors.SetupFailed(
            f"the database refused the login ({str(error).strip()}); "
            "correct the user, the password or the database in FOJA_DATABASE_URL"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | OSError):
        found = errors.LedgerUnavailable(f"the database does not answer ({error}); try again")
        found.public = "the database does not answer; try again"
        return found
    return errors.FojaError(f"unexpected database error: {error}")


def _is_login_refused(error: psycopg.OperationalError) -> bool:
    """Return whether the server answered and refused user, password or database; libpq gives no code."""
    return bool(LOGIN_REFUSED.search(str(error)) or (error.pgconn and error.pgconn.needs_password))


def _from_sqlstate(error: psycopg.Error, state: str) -> errors.FojaError:
    message = error.diag.message_primary or str(error)
    detail = error.diag.message_detail or message
    if state in {"FJ001", "FJ003"}:
        return refusal(detail if detail.startswith(f"{message}: ") else f"{message}: {detail}")
    if state == "FJ002":
        return errors.Refused(detail)
    if state == "23505" and error.diag.constraint_name == "event_id_key":
        return AlreadyRecorded("this event was recorded before; read it")
    if state == "55P03":
        from foja.engine.metrics import LOCK_TIMEOUTS  # here, so that `foja status` starts without metrics

        LOCK_TIMEOUTS.inc()
        return Locked(
            "another session holds a lock that this needs; "
            "end its transaction (pg_stat_activity shows it), then try again"
        )
    if state in RETRYABLE:
        return errors.Busy(f"a concurrent transaction interfered ({message}); try again")
    if state in STANDBY:
        return errors.LedgerUnavailable(
            f"this server of the database is a standby or read-only ({message}); try again: a failover may "
            "not be over. If it lasts, name all servers in FOJA_DATABASE_URL, "
            "with target_session_attrs=read-write"
        )
    if state[:2] in {"08", "53", "57"}:
        return errors.LedgerUnavailable(f"the database refuses work now ({message}); try again")
    if state in MISSING:
        return errors.SchemaDiffers(
            f"the database lacks what this version of Foja uses ({message}); "
            "`foja migrate --status` shows its steps"
        )
    if state == "42501":
        return errors.WrongSource(f"this role may not do that ({message})")
    if state == "54001":
        return errors.NotCanonical("nested too deeply; a body may have 64 levels")
    if state[:2] in {"22", "23"}:
        return errors.BadPayload(f"the database cannot store this value ({message})")
    return errors.FojaError(f"unexpected database error {state}: {message}")


@contextmanager
def our_errors(
    raised: tuple[type[Exception], ...] = RAISED,
    translate: Callable[[Exception], errors.FojaError] = translate,
) -> Iterator[None]:
    """Translate the errors that a driver raises inside, by default psycopg.

    A cancelled task stays cancelled: psycopg first ends the running statement, and if the
    connection breaks meanwhile, it reports that and drops the cancellation.
    """
    try:
        yield
    except raised as error:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise asyncio.CancelledError from error
        raise translate(error) from error


async def explained(url: str, error: errors.FojaError) -> errors.FojaError:
    """Return how the schema differs from that of this version if that may be the cause, else the error."""
    cause = error.__cause__
    missing = isinstance(cause, psycopg.Error) and cause.sqlstate in {*MISSING, "42501"}
    if missing or isinstance(error, errors.RoleMissing):
        with suppress(errors.MigrationFailed):
            if found := await difference(url):
                return errors.SchemaDiffers(found)
    return error


async def act_as(connection: Connection, role: str, lock_seconds: float = LOCK_SECONDS) -> None:
    """Make `connection` act as `role` and wait for no lock for longer. Raise `RoleMissing` if it may not."""
    with our_errors():
        try:
            timeout = f"{lock_seconds * 1000:.0f}ms"
            await connection.execute(query("act_as"), {"role": role, "lock_timeout": timeout}, prepare=False)
        except psycopg.Error as error:
            if error.sqlstate not in {"22023", "42501"}:  # the error is not about the role
                raise
            raise errors.RoleMissing(
                f"the connection may not act as {role} ({error.diag.message_primary}); "
                f"run `foja migrate`, or grant {role} to the user in FOJA_DATABASE_URL"
            ) from error


async def connect(
    url: str,
    role: str,
    lock_seconds: float = LOCK_SECONDS,
    *,
    answer_seconds: float | None = ANSWER_SECONDS,
) -> Connection:
    """Open a connection that acts as `role`, outside any pool.

    `answer_seconds` limits the wait for each answer; None waits as long as it takes.
    """
    with our_errors():
        connection = await open_connection(url)
    connection.answer_seconds = answer_seconds
    for loader in (_Json, _BinaryJson):
        connection.adapters.register_loader("json", loader)
    connection.adapters.register_dumper(Packed, _Packed)
    connection.statements = TenantStatements(connection)
    try:
        await act_as(connection, role, lock_seconds)
    except BaseException:
        connection.pgconn.finish()
        raise
    return connection


class _Json(Loader):
    """Loads stored JSON, which is canonical UTF-8. psycopg calls orjson itself: no frame for each value."""

    load = staticmethod(orjson.loads)  # type: ignore[assignment]


class _BinaryJson(_Json):
    """Loads binary JSON, which is the same text."""

    format = Format.BINARY


class _Packed(Dumper):
    """Sends a value that is already encoded, without a type."""

    format = Format.BINARY

    def dump(self, obj: Packed) -> Buffer:
        return obj


def maker(of: type[Row]) -> Callable[[Sequence[Any]], Row]:
    """Return what makes an instance of a class of a row."""
    return of if of is tuple else lambda row: of(*row)


async def _backend(connection: Connection) -> int:
    row = await (await connection.execute(query("backend"), prepare=False)).fetchone()
    return int(row[0]) if row else 0


class Database:
    """A pool of connections that act as one role; `of` makes each statement act for one tenant.

    `answer_seconds` is for an append. A statement here may take twice as long, and of `patient` any time.
    """

    def __init__(self, url: str, role: str, most: int, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.url, self.role, self.answer_seconds = url, role, answer_seconds
        self._tenant: str | None = None
        self._limit: float | None = OTHER_ANSWERS * answer_seconds
        self._pool = Pool(lambda: connect(url, role, answer_seconds=self.answer_seconds), most)
        self._checked = False

    async def open(self) -> None:
        """Open the first connection, so that a wrong URL or role is found at once. It is done once."""
        if self._checked:
            return
        connection = await self._pool.acquire()
        try:
            with our_errors():
                await self._check_pooler(connection)
        finally:
            self._pool.release(connection)
        self._checked = True

    async def _check_pooler(self, connection: Connection) -> None:
        """Raise `SetupFailed` if a pooler shares one session of the server between connections.

        A pooler gives each client a process id of its own; only then a second connection is opened.
        """
        if await _backend(connection) == connection.info.backend_pid:
            return
        other = await connect(self.url, self.role, answer_seconds=self.answer_seconds)
        try:
            pids = [(await _backend(connection), await _backend(other)) for _ in range(POOLER_PROBES)]
        finally:
            other.pgconn.finish()
        if len({first for first, _ in pids}) > 1 or any(first == second for first, second in pids):
            raise errors.SetupFailed(
                "FOJA_DATABASE_URL leads through a connection pooler in transaction mode, and Foja needs "
                "sessions (roles, prepared statements, notifications); use session mode, or the server itself"
            )

    async def close(self) -> None:
        """Close every connection; one in use is closed when it is released."""
        self._pool.close()

    def of(self, tenant: str) -> Database:
        """Return the same connections, with every statement in a transaction of its own for one tenant."""
        other = copy(self)
        other._tenant = tenant
        return other

    def patient(self) -> Database:
        """Return the same connections without a limit of an answer, for work that reads everything."""
        other = copy(self)
        other._limit = None
        return other

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection in autocommit mode. It acts for no tenant."""
        connection = await self._pool.acquire()
        connection.answer_seconds = self._limit
        try:
            with our_errors():
                yield connection
        except errors.LedgerUnavailable as error:
            if isinstance(error.__cause__, psycopg.Error) and error.__cause__.sqlstate in STANDBY:
                connection.pgconn.finish()  # the next connection may lead to another server
            raise
        except (errors.SchemaDiffers, errors.WrongSource) as error:
            raise await explained(self.url, error) from error.__cause__
        finally:
            self._pool.release(connection)

    async def rows(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Run one statement and return its rows, each as an `of`: a class with the names of the columns."""
        return await self._fetch(maker(of), query, values, binary=False)

    async def many(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Run one statement and return its rows, in binary: faster for thousands of rows."""
        return await self.made(maker(of), query, **values)

    async def made(
        self, make: Callable[[Sequence[Any]], Row], query: LiteralString, **values: object
    ) -> list[Row]:
        """Run one statement and return what `make` makes of each of its thousands of rows."""
        return await self._fetch(make, query, values, binary=True)

    async def row(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> Row | None:
        """Run one statement and return its only row, if any."""
        found = await self.rows(query, of, **values)
        return found[0] if found else None

    async def one(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> Row:
        """Run one statement that always has a row, and return it."""
        [found] = await self.rows(query, of, **values)
        return found

    async def values(self, query: LiteralString, **values: object) -> list[Any]:
        """Run one statement and return its only column."""
        return [value for (value,) in await self.rows(query, **values)]

    async def value(self, query: LiteralString, **values: object) -> Any:
        """Run one statement and return the only column of its only row, or None if there is no row."""
        found = await self.values(query, **values)
        return found[0] if found else None

    async def rows_within(
        self, seconds: float, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object
    ) -> list[Row]:
        """Run one statement, for no tenant, and return its rows; raise if it takes longer than this."""
        async with self.connection() as connection:
            return await connection.statements.fetch_within(seconds, query, values, maker(of))

    async def _fetch(
        self,
        make: Callable[[Sequence[Any]], Row],
        statement: LiteralString,
        values: dict[str, object],
        *,
        binary: bool,
    ) -> list[Row]:
        async with self.connection() as connection:
            if self._tenant is not None:
                return await connection.statements.fetch(self._tenant, statement, values, make, binary=binary)
            cursor = await connection.execute(statement, values, binary=binary)
            return [make(row) for row in await cursor.fetchall()]
