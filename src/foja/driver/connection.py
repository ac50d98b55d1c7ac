"""A connection that reads all available input before it returns to the event loop.

libpq reads 16 kB at a time. A long result takes many reads, and one turn of the event loop costs
as much as decoding one of them.
"""

from __future__ import annotations

import logging
import select
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

if TYPE_CHECKING:
    from foja.driver.tenant_statement import TenantStatements

MAX_READS = 64  # in a row, so that other tasks can run
INTERVAL = 0.1
Result = TypeVar("Result")


def _is_news(record: logging.LogRecord) -> bool:
    """A task that is cancelled twice loses its connection, and its pool opens another: nobody has to know."""
    return not str(record.msg).startswith("query cancellation interrupted")


logging.getLogger("psycopg").addFilter(_is_news)


class Connection(AsyncConnection[tuple[Any, ...]]):
    """A psycopg connection that waits less often, with statements that act for one tenant."""

    statements: TenantStatements

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = INTERVAL,
        timeout: float | None = None,  # noqa: ASYNC109, the signature is psycopg's
    ) -> Result:
        """Run `gen` to its result. Wait only if no input is available."""
        return await super().wait(_read_eagerly(gen, self.pgconn.socket), interval, timeout)


def _read_eagerly(gen: PQGen[Result], socket: int) -> PQGen[Result]:
    """Yield as `gen` does, except for input that is available. The first read of a result always waits."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if ready == Ready.R and wanted == Wait.R:
                wanted = _read_available(gen, socket)
    except StopIteration as end:
        result: Result = end.value
        return result


def _read_available(gen: PQGen[Any], socket: int) -> Wait:
    """Let `gen` read while input is available. Return what it waits for next."""
    wanted, poll = Wait.R, select.poll()
    poll.register(socket, select.POLLIN)
    for _ in range(MAX_READS):
        if wanted != Wait.R or not poll.poll(0):
            break
        wanted = gen.send(Ready.R)
    return wanted
