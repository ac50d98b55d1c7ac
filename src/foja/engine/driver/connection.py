"""A connection that limits the wait for an answer, and reads all available input before it waits again.

libpq reads 16 kB at a time. A long result takes many reads, and one turn of the event loop costs
as much as decoding one of them.
"""

from __future__ import annotations

import asyncio
import logging
import select
import traceback
from collections.abc import AsyncGenerator
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, Notify
from psycopg.abc import PQGen
from psycopg.pq import PGconn, Ping
from psycopg.waiting import Ready, Wait

from foja.engine.sql import query
from foja.engine.sql.network import limit_network
from foja.engine.tasks import run_apart

if TYPE_CHECKING:
    from foja.engine.driver.tenant_statement import TenantStatements

MAX_READS = 64  # in a row, so that other tasks can run
INTERVAL = 0.1
ANSWER_SECONDS: Final = 15.0
Result = TypeVar("Result")
AT_ONCE = 4  # of one process to one address
_attempts: dict[tuple[asyncio.AbstractEventLoop, str], Attempts] = {}


def _is_news(record: logging.LogRecord) -> bool:
    """A task that is cancelled twice loses its connection, and its pool opens another: nobody has to know."""
    return not str(record.msg).startswith("query cancellation interrupted")


logging.getLogger("psycopg").addFilter(_is_news)


class Connection(AsyncConnection[tuple[Any, ...]]):
    """A psycopg connection that waits less often, with statements that act for one tenant.

    `answer_seconds` limits how long the server may be silent; None waits as long as it takes.
    """

    statements: TenantStatements
    answer_seconds: float | None = None

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = INTERVAL,
        timeout: float | None = None,  # noqa: ASYNC109, the signature is psycopg's
    ) -> Result:
        """Run `gen` to its result. Wait only if no input is available.

        Where nothing arrives in time the connection is closed: nothing can be known of its statement.
        """
        limit = self.answer_seconds if timeout is None else None
        try:
            return await super().wait(_read_eagerly(gen, self.pgconn.socket, limit), interval, timeout)
        except _Silent as error:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {limit:g} s") from error

    async def notifications(self) -> AsyncGenerator[Notify]:
        """Yield notifications without end. A server that is silent is asked whether it still answers."""
        while True:
            async for notification in self.notifies(timeout=self.answer_seconds):
                yield notification
            await self.execute(query("backend"))

    def is_alive(self) -> bool:
        """Return whether the server has not closed this idle connection. Nothing is sent."""
        poll = select.poll()
        try:
            poll.register(self.pgconn.socket, select.POLLIN)
            while poll.poll(0):
                self.pgconn.consume_input()
        except psycopg.Error:
            return False
        return True


async def open_connection(url: str) -> Connection:
    """Return a new connection in autocommit mode. If the caller is cancelled, it is closed as it opens."""
    key = asyncio.get_running_loop(), url
    if key not in _attempts:
        for over in [each for each in _attempts if each[0].is_closed()]:
            del _attempts[over]
        _attempts[key] = Attempts(url)
    return await _attempts[key].connect()


class Attempts:
    """The attempts of this process to connect to one address: a few at once, one while the server is silent.

    A server that is frozen accepts connections and answers nothing: each attempt becomes a backend when it
    goes on. So one that nobody waits for any more keeps its place until its own end.
    """

    def __init__(self, url: str) -> None:
        self._url = limit_network(url)
        self._running = set[asyncio.Task[Connection]]()
        self._begun = self._silent = 0  # how many began, and which one ended last without any answer
        self._is_silent = False
        self._ended = asyncio.Event()

    async def connect(self) -> Connection:
        """Return a new connection. Raise if during the wait an attempt began, and ended without an answer."""
        begun = self._begun
        while len(self._running) >= (1 if self._is_silent else AT_ONCE):
            await self._ended.wait()
            if self._silent > begun:
                raise psycopg.errors.ConnectionTimeout("connection timeout expired")
        self._begun += 1
        attempt = asyncio.create_task(_open(self._url))
        self._running.add(attempt)
        attempt.add_done_callback(partial(self._note, self._begun))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            attempt.add_done_callback(_close)
            raise

    def _note(self, number: int, attempt: asyncio.Task[Connection]) -> None:
        self._running.discard(attempt)
        error = None if attempt.cancelled() else attempt.exception()
        self._is_silent = isinstance(error, psycopg.errors.ConnectionTimeout)
        if self._is_silent:
            self._silent = number
        self._ended.set()
        self._ended = asyncio.Event()


def _close(attempt: asyncio.Task[Connection]) -> None:
    if not attempt.cancelled() and not attempt.exception():
        attempt.result().pgconn.finish()


async def _open(url: str) -> Connection:
    try:
        return await Connection.connect(url, autocommit=True, prepare_threshold=1)
    except BaseException as error:
        _release(error)
        raise


def _release(error: BaseException | None) -> None:
    """Close what the frames of a failed attempt have open: errors of psycopg keep them in a cycle."""
    while error:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


async def is_recovering(url: str) -> bool:
    """Return whether the server starts, or recovers after a crash, and accepts no connection yet."""
    found = await run_apart(lambda: PGconn.ping(limit_network(url).encode()))
    return Ping(found) == Ping.REJECT


class _Silent(Exception):
    """Nothing has arrived for as long as an answer may take."""


def _read_eagerly(gen: PQGen[Result], socket: int, limit: float | None) -> PQGen[Result]:
    """Yield as `gen` does, except for input that is available. The first read of a result always waits.

    Raise `_Silent` if nothing arrives for `limit` seconds; a long result may take longer.
    """
    last_input = monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                last_input = monotonic()
            elif limit is not None and monotonic() - last_input > limit and not _has_input(socket):
                raise _Silent
            wanted = gen.send(ready)
            if ready == Ready.R and wanted == Wait.R:
                wanted = _read_available(gen, socket)
    except StopIteration as end:
        result: Result = end.value
        return result


def _has_input(socket: int) -> bool:
    """Return whether input is there that this process had no time to read."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


def _read_available(gen: PQGen[Any], socket: int) -> Wait:
    """Let `gen` read while input is available. Return what it waits for next."""
    wanted, poll = Wait.R, select.poll()
    poll.register(socket, select.POLLIN)
    for _ in range(MAX_READS):
        if wanted != Wait.R or not poll.poll(0):
            break
        wanted = gen.send(Ready.R)
    return wanted
