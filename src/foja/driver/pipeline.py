"""A connection that runs a few prepared statements and nothing else, as fast as libpq can.

psycopg's cursors adapt, prepare and wait anew for every call; an append pays more for
that than for its own work. So the append's statements go through `psycopg.pq`: prepared
once, values as bytes, one reader on the loop for as long as the connection lives.

Questions are sent at once, also while others are unanswered (libpq's pipeline mode). Each
is a transaction of its own, and they are answered in the order they were asked.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from foja import sql
from foja.driver.database import RAISED, Connection, connect, our_errors, translate
from foja.driver.encoding import Value

BINARY = 1
GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Pipeline:
    """One connection with its prepared statements, and the questions on it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._pgconn = connection, connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._questions: deque[asyncio.Future[PGresult]] = deque()
        self._result: PGresult | None = None
        self._retired = False
        self.broken = False
        self._pgconn.nonblocking = 1
        self._pgconn.enter_pipeline_mode()
        self._socket = self._pgconn.socket  # libpq forgets it when the connection breaks, the loop must not
        self._loop.add_reader(self._socket, self._read)

    @classmethod
    async def open(cls, url: str, role: str, *statements: str) -> Pipeline:
        """Connect as `role` and prepare the queries of these names."""
        connection = await connect(url, role)
        try:
            with our_errors():
                for name in statements:
                    await connection.execute(sql.query(f"prepare_{name}"))
        except BaseException:
            connection.pgconn.finish()
            raise
        return cls(connection)

    async def ask(self, statement: str, values: Sequence[Value]) -> bytes:
        """Run a prepared statement with binary values and return its only value; raise our errors.

        Whoever no longer waits for an answer leaves it to nobody: the statement runs all the same.
        """
        question: asyncio.Future[PGresult] = self._loop.create_future()
        try:
            self._send(statement, values)
            self._questions.append(question)
            result = await question
        except RAISED as error:
            raise translate(error) from error
        if result.status not in GOOD:
            raise translate(psycopg.errors.error_from_result(result))
        return result.get_value(0, 0) or b""

    @property
    def waiting(self) -> int:
        """How many questions are unanswered."""
        return len(self._questions)

    def retire(self) -> None:
        """Close, once the questions asked so far are answered."""
        self._retired = True
        if not self._questions:
            self.drop()

    def drop(self) -> None:
        """Close at once."""
        if not self.broken:
            self.broken = True
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._pgconn.finish()
        self._fail_all(psycopg.OperationalError("the connection is closed"))

    def _send(self, statement: str, values: Sequence[Value]) -> None:
        try:
            self._pgconn.send_query_prepared(statement.encode(), values, [BINARY] * len(values), BINARY)
            self._pgconn.pipeline_sync()
            self._flush()
        except RAISED as error:
            self._fail(error)
            raise

    def _flush(self) -> None:
        if self._pgconn.flush():
            self._loop.add_writer(self._socket, self._flush)
        else:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            self._pgconn.consume_input()
            while self._questions and not self._pgconn.is_busy():
                self._take(self._pgconn.get_result())
        except psycopg.Error as error:
            self._fail(error)

    def _take(self, result: PGresult | None) -> None:
        if result is None:  # the end of one statement's results
            return
        if result.status != ExecStatus.PIPELINE_SYNC:
            self._result = self._result or result
        elif self._result:
            self._answer(self._result)

    def _answer(self, result: PGresult) -> None:
        question, self._result = self._questions.popleft(), None
        if not question.done():
            question.set_result(result)
        if self._retired and not self._questions:
            self.drop()

    def _fail(self, error: Exception) -> None:
        """Nothing more will come: tell everybody who waits; the first one what the server refused, if it did.

        A result without its sync is no answer: the commit comes in between.
        """
        if self._result and self._result.status not in GOOD and self._questions:
            self._answer(self._result)
        self._fail_all(error)
        self.drop()

    def _fail_all(self, error: Exception) -> None:
        while self._questions:
            question = self._questions.popleft()
            if not question.done():
                question.set_exception(error)
