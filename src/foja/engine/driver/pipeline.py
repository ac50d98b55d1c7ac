"""A connection that runs only a few prepared statements, in libpq's pipeline mode.

psycopg's cursors adapt, prepare and wait anew for every call, which costs an append more than
its own work. So the statements of an append use `psycopg.pq`: prepared once, values as bytes,
one reader on the event loop for the life of the connection.

A request is sent at once, also while others wait for their results. Each request is a
transaction, and results arrive in the order of the requests. The tenant that a request acts
for is the last value of its statement, which sets it: it ends with the transaction.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from foja.engine import sql
from foja.engine.driver.connection import ANSWER_SECONDS
from foja.engine.driver.database import (
    LOCK_SECONDS,
    RAISED,
    STANDBY,
    Connection,
    connect,
    our_errors,
    translate,
)
from foja.engine.driver.encoding import Value

BINARY = 1
GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Pipeline:
    """One connection with its prepared statements and open requests."""

    def __init__(self, connection: Connection, answer_seconds: float) -> None:
        self._limit = answer_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._answered = self._checked = 0
        self._connection, self._pgconn = connection, connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._requests: deque[asyncio.Future[PGresult]] = deque()
        self._result: PGresult | None = None
        self.waiting = 0  # the number of open requests
        self._retired = self._writing = False
        self.broken = False
        self._pgconn.nonblocking = 1
        self._pgconn.enter_pipeline_mode()
        self._socket = self._pgconn.socket  # stored: libpq clears it when the connection breaks
        self._loop.add_reader(self._socket, self._read)

    @classmethod
    async def open(
        cls,
        url: str,
        role: str,
        *statements: str,
        lock_seconds: float = LOCK_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> Pipeline:
        """Connect as `role` and prepare the queries of these names."""
        connection = await connect(url, role, lock_seconds, answer_seconds=answer_seconds)
        try:
            with our_errors():
                for name in statements:
                    await connection.execute(sql.query(f"prepare_{name}"))
        except BaseException:
            connection.pgconn.finish()
            raise
        return cls(connection, answer_seconds)

    async def ask(self, statement: str, values: Sequence[Value], tenant: str | None = None) -> bytes:
        """Run a prepared statement with binary values, for one tenant if named, and return its only value.

        If the caller is cancelled, the statement still runs and its result is dropped.
        """
        request: asyncio.Future[PGresult] = self._loop.create_future()
        try:
            self._send(statement, values if tenant is None else [*values, tenant.encode()])
            self._requests.append(request)
            self.waiting += 1
            if self._timer is None:
                self._await_answers()
            result = await request
        except RAISED as error:
            raise translate(error) from error
        if result.status not in GOOD:
            refused = psycopg.errors.error_from_result(result)
            if refused.sqlstate in STANDBY:
                self.drop(refused)  # the next connection may lead to another server
            raise translate(refused)
        return result.get_value(0, 0) or b""

    def retire(self) -> None:
        """Close once all open requests have their results."""
        self._retired = True
        if not self._requests:
            self.drop()

    def drop(self, error: Exception | None = None) -> None:
        """Close at once. Open requests fail with this error."""
        if not self.broken:
            self.broken = True
            if self._timer:
                self._timer.cancel()
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._pgconn.finish()
        self.waiting = 0
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_exception(error or psycopg.OperationalError("the connection is closed"))

    def _await_answers(self) -> None:
        """Look later whether answers arrived. One timer for all requests costs none of them anything."""
        self._checked = self._answered
        self._timer = self._loop.call_later(self._limit, self._check_answers)

    def _check_answers(self) -> None:
        self._timer = None
        if self._requests and self._answered == self._checked:
            self._fail(psycopg.OperationalError(f"no answer within {self._limit:g} s"))
        elif self._requests:
            self._await_answers()

    def _send(self, statement: str, values: Sequence[Value]) -> None:
        try:
            self._pgconn.send_query_prepared(statement.encode(), values, [BINARY] * len(values), BINARY)
            self._pgconn.pipeline_sync()
            self._flush()
        except RAISED as error:
            self._fail(error)
            raise

    def _flush(self) -> None:
        left = bool(self._pgconn.flush())
        if left == self._writing:  # nearly always False: a request fits into the socket's buffer
            return
        self._writing = left
        if left:
            self._loop.add_writer(self._socket, self._flush)
        else:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            self._pgconn.consume_input()
            while self._requests and not self._pgconn.is_busy():
                self._take(self._pgconn.get_result())
        except psycopg.Error as error:
            self._fail(error)

    def _take(self, result: PGresult | None) -> None:
        if result is None:  # the end of one statement's results
            return
        if result.status != ExecStatus.PIPELINE_SYNC:
            self._result = result
        elif self._result:
            self._answer(self._result)

    def _answer(self, result: PGresult) -> None:
        request, self._result = self._requests.popleft(), None
        self.waiting -= 1
        self._answered += 1
        if not request.done():
            request.set_result(result)
        if self._retired and not self._requests:
            self.drop()

    def _fail(self, error: Exception) -> None:
        """Fail every open request; the first one with the server's own error, if it sent one.

        A good result without its sync does not count: the commit comes in between.
        """
        if self._result and self._result.status not in GOOD and self._requests:
            self._answer(self._result)
        self.drop(error)
