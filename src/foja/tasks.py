"""Ends background tasks, also one that loses its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 2.0  # longer than a task needs to close what it has open


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel these tasks and return when all have ended. Their errors are dropped.

    A library can lose a cancellation (`asyncio.wait_for` of Python 3.11 does, as its call ends), so
    a task that goes on is cancelled again.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        done, pending = await asyncio.wait(pending, timeout=AGAIN_SECONDS)
        for task in done:
            if not task.cancelled():
                task.exception()  # marks it as retrieved
