"""Ends background tasks, limits waits, and runs what may never end apart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

AGAIN_SECONDS = 2.0  # longer than a task needs to close what it has open
Result = TypeVar("Result")
_left: set[asyncio.Future[Any]] = set()  # what nobody waits for any more, so that it is not collected


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel these tasks and return when all have ended. Their errors are dropped.

    A library can lose a cancellation (`asyncio.wait_for` of Python 3.11 does, as its call ends), so
    a task that goes on is cancelled again. If the caller is cancelled meanwhile, it still waits for all.
    """
    pending, cancelled = set(tasks), False
    while pending:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending, timeout=AGAIN_SECONDS)
        except asyncio.CancelledError:
            cancelled = True
        for task in [each for each in pending if each.done()]:
            pending.remove(task)
            if not task.cancelled():
                task.exception()  # marks it as retrieved
    if cancelled:
        raise asyncio.CancelledError


async def to_the_end(work: Awaitable[Result]) -> Result:
    """Await something to its end, also if this task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # marks it as retrieved
        raise


async def within(seconds: float, work: Awaitable[Result]) -> Result:
    """Return what this returns, or raise `TimeoutError` when the time is over.

    It is cancelled then, and left behind: to end a statement, psycopg waits for the server for ten seconds
    more, and `asyncio.timeout` waits for psycopg.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=seconds)
        if task.done():
            return await task
        raise TimeoutError
    finally:
        if not task.done():
            _left.add(task)
            task.add_done_callback(_forget)
            task.cancel()


def _forget(task: asyncio.Future[Any]) -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # marks it as retrieved


async def run_apart(function: Callable[[], Result]) -> Result:
    """Return what the function returns, or raise what it raises, as an `Exception`.

    It may never return. A thread of `asyncio.to_thread` would then block the end of the process.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Result] = loop.create_future()

    def end(set_result: Callable[[], None]) -> None:
        if not result.done():  # it is, if nothing waits for it any more
            set_result()

    def run() -> None:
        try:
            found = function()
        except BaseException as error:  # SystemExit, too: it must not end a worker
            wrong = _as_exception(error)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, lambda: result.set_exception(wrong))
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, lambda: result.set_result(found))

    threading.Thread(target=run, name="foja-apart", daemon=True).start()
    return await result


def _as_exception(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrong = RuntimeError(f"it raised {type(error).__name__}: {error}")
    wrong.__cause__ = error
    return wrong
