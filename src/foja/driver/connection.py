"""A connection that limits the wait for an answer, and reads all available input before it waits again.

libpq reads 16 kB at a time. A long result takes many reads, and one turn of the event loop costs
as much as decoding one of them.
"""

from __future__ import annotations

import logging
import select
from collections.abc import AsyncGenerator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, Notify
from psycopg.abc import PQGen
from psycopg.pq import PGconn, Ping
from psycopg.waiting import Ready, Wait

from foja.sql import query
from foja.sql.network import limit_network
from foja.tasks import run_apart

if TYPE_CHECKING:
    from foja.driver.tenant_statement import TenantStatements

MAX_READS = 64  # in a row, so that other tasks can run
INTERVAL = 0.1
ANSWER_SECONDS: Final = 15.0
Result = TypeVar("Result")


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
    heard = monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif limit is not None and monotonic() - heard > limit and not _has_input(socket):
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
