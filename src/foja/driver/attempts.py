"""Open connections, a few at once; one at a time while the server is silent.

A server that is frozen accepts connections and answers nothing: each attempt becomes a backend when it goes
on. So an attempt that nobody waits for any more is not followed by another one before its own end.
"""

from __future__ import annotations

import asyncio
import traceback
from functools import partial

import psycopg

from foja.driver.connection import Connection
from foja.sql.network import limit_network

AT_ONCE = 4  # of one process to one address
_attempts: dict[tuple[asyncio.AbstractEventLoop, str], Attempts] = {}


async def open_connection(url: str) -> Connection:
    """Return a new connection in autocommit mode. If the caller is cancelled, it is closed as it opens."""
    key = asyncio.get_running_loop(), url
    if key not in _attempts:
        for over in [each for each in _attempts if each[0].is_closed()]:
            del _attempts[over]
        _attempts[key] = Attempts(url)
    return await _attempts[key].connect()


class Attempts:
    """The attempts of this process to connect to one address."""

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
