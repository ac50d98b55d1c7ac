"""A connection that reads what is there before it goes back to the loop.

libpq takes 16 kB at a time. A long answer is many of those, and a turn of the loop costs as much
as decoding one.
"""

from __future__ import annotations

import select
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

MAX_READS = 64  # readings in a row: others want the loop, too
INTERVAL = 0.1
Answer = TypeVar("Answer")


class Connection(AsyncConnection[tuple[Any, ...]]):
    """psycopg's own, but for the waiting."""

    async def wait(
        self,
        gen: PQGen[Answer],
        interval: float = INTERVAL,
        timeout: float | None = None,  # noqa: ASYNC109, the signature is psycopg's
    ) -> Answer:
        """Let `gen` have its answer, waiting only where there is something to wait for."""
        return await super().wait(_eagerly(gen, self.pgconn.socket), interval, timeout)


def _eagerly(gen: PQGen[Answer], socket: int) -> PQGen[Answer]:
    """Yield as `gen` does, but not for what can be read at once. The first part of an answer never can."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if ready == Ready.R and wanted == Wait.R:
                wanted = _read_on(gen, socket)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _read_on(gen: PQGen[Any], socket: int) -> Wait:
    """Let `gen` read while there is something, and return what it wants then."""
    wanted, poll = Wait.R, select.poll()
    poll.register(socket, select.POLLIN)
    for _ in range(MAX_READS):
        if wanted != Wait.R or not poll.poll(0):
            break
        wanted = gen.send(Ready.R)
    return wanted
