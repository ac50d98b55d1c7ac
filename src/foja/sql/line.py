"""A connection that runs a few prepared statements and nothing else, as fast as libpq can.

psycopg's cursors adapt, prepare and wait anew for every call; an append pays more for
that than for its own work. So the append's statements go through `psycopg.pq`: prepared
once, values as bytes, one reader on the loop for as long as the connection lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from foja import sql
from foja.sql.database import RAISED, Connection, connect, our_errors, translate
from foja.sql.wire import Value

BINARY = 1
GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Line:
    """One connection with its prepared statements. One question at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._pgconn = connection, connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._question: asyncio.Future[PGresult] | None = None
        self._result: PGresult | None = None
        self._pgconn.nonblocking = 1
        self._loop.add_reader(self._pgconn.socket, self._read)

    @classmethod
    async def open(cls, url: str, role: str, *statements: str) -> Line:
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
        """Run a prepared statement with binary values and return its only value; raise our errors."""
        question: asyncio.Future[PGresult] = self._loop.create_future()
        self._question, self._result = question, None
        try:
            self._pgconn.send_query_prepared(statement.encode(), values, [BINARY] * len(values), BINARY)
            self._flush()
            result = await question
        except RAISED as error:
            self.drop()
            raise translate(error) from error
        except asyncio.CancelledError:
            self.drop()  # its answer would be taken for the next one's
            raise
        if result.status not in GOOD:
            raise translate(psycopg.errors.error_from_result(result))
        return result.get_value(0, 0) or b""

    def usable(self) -> bool:
        """Is this line open, with no question unanswered?"""
        return self._question is None and not self._connection.closed

    def drop(self) -> None:
        """Close at once."""
        if not self._connection.closed:
            self._loop.remove_reader(self._pgconn.socket)
            self._loop.remove_writer(self._pgconn.socket)
            self._pgconn.finish()

    def _flush(self) -> None:
        if self._pgconn.flush():
            self._loop.add_writer(self._pgconn.socket, self._flush)
        else:
            self._loop.remove_writer(self._pgconn.socket)

    def _read(self) -> None:
        try:
            self._pgconn.consume_input()
            while self._question and not self._pgconn.is_busy():
                result = self._pgconn.get_result()
                if result is None:
                    self._answer()
                else:
                    self._result = self._result or result
        except psycopg.Error as error:
            self._fail(error)

    def _answer(self) -> None:
        question, self._question = self._question, None
        if question and not question.done() and self._result:
            question.set_result(self._result)

    def _fail(self, error: psycopg.Error) -> None:
        question, self._question = self._question, None
        self.drop()
        if question and not question.done():
            question.set_exception(error)
