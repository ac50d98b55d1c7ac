"""A small connection pool. Acquiring an idle connection is a list operation, not a task.

It is our own because every read and every fill uses it. Appends share pipelines instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from psycopg.pq import TransactionStatus

from foja.engine.driver.connection import Connection
from foja.errors import Refused


class Pool:
    """Opens up to `most` connections as needed. A broken one is never reused."""

    def __init__(self, make: Callable[[], Awaitable[Connection]], most: int) -> None:
        self._make, self._most = make, most
        self._idle: list[Connection] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._open = 0
        self._closed = False

    async def acquire(self) -> Connection:
        """Return an idle or new connection; wait while all are in use."""
        while True:
            if self._closed:
                raise Refused("this app is closed; connect again")
            if self._idle:
                connection = self._idle.pop()
                if connection.is_alive():
                    return connection
                self._discard(connection)
                continue
            if self._open < self._most:
                return await self._add()
            await self._wait()

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool. If it is broken or in a transaction, drop it and all idle ones."""
        if connection.info.transaction_status == TransactionStatus.IDLE and not self._closed:
            self._idle.append(connection)
        else:
            self._discard(connection)
        self._wake_next()

    def close(self) -> None:
        """Close every connection; one in use is closed when it is released. Waiting callers are refused."""
        self._closed = True
        self._drop(*self._idle)
        self._idle.clear()
        while self._waiting:
            self._wake_next()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_next()  # woken and cancelled at the same moment
            raise

    async def _add(self) -> Connection:
        self._open += 1
        try:
            return await self._make()
        except BaseException:
            self._open -= 1
            self._wake_next()
            raise

    def _discard(self, broken: Connection) -> None:
        """Drop this connection and all idle ones: the server is probably gone for all of them."""
        self._drop(broken, *self._idle)
        self._idle.clear()

    def _drop(self, *connections: Connection) -> None:
        for connection in connections:
            connection.pgconn.finish()
            self._open -= 1

    def _wake_next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
