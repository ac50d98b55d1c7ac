"""Ends background tasks, also one that loses its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

AGAIN_SECONDS = 2.0  # longer than a task needs to close what it has open
Result = TypeVar("Result")


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
