"""A few connections, lent one at a time. Lending is a list operation, not a task.

Our own, because it sits on the path of every read and every fill. Appends share `pipelines`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from psycopg.pq import TransactionStatus

from foja.driver.connection import Connection
from foja.errors import Refused


class Pool:
    """Makes up to `most` connections when they are wanted. One that broke is never lent again."""

    def __init__(self, make: Callable[[], Awaitable[Connection]], most: int) -> None:
        self._make, self._most = make, most
        self._idle: list[Connection] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._open = 0
        self._closed = False

    async def take(self) -> Connection:
        """Lend a connection, made if there is none; wait while all are lent."""
        while True:
            if self._closed:
                raise Refused("this app is closed; connect again")
            if self._idle:
                return self._idle.pop()
            if self._open < self._most:
                return await self._add()
            await self._turn()

    def give_back(self, connection: Connection) -> None:
        """Take it back; a broken or unfinished one goes, with its idle neighbours."""
        if connection.info.transaction_status == TransactionStatus.IDLE and not self._closed:
            self._idle.append(connection)
        else:
            # The server is probably gone for all of them.
            self._drop(connection, *self._idle)
            self._idle.clear()
        self._call_next()

    def close(self) -> None:
        """Close every connection; one that is lent now, when it comes back."""
        self._closed = True
        self._drop(*self._idle)
        self._idle.clear()
        self._call_next()

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._call_next()  # called in the moment it gave up
            raise

    async def _add(self) -> Connection:
        self._open += 1
        try:
            return await self._make()
        except BaseException:
            self._open -= 1
            self._call_next()
            raise

    def _drop(self, *connections: Connection) -> None:
        for connection in connections:
            connection.pgconn.finish()
            self._open -= 1

    def _call_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
