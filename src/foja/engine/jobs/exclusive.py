"""A lock that lets one job run while no other job of the process does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class RunLock:
    """Shared by batches, exclusive for a job that a worker died with."""

    def __init__(self) -> None:
        self._running = 0
        self._changed = asyncio.Condition()
        self._solo = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def join(self, *, alone: bool) -> AsyncIterator[None]:
        """Hold the lock: shared, or exclusive if `alone`."""
        if alone:
            async with self._solo:
                async with self._changed:
                    await self._changed.wait_for(lambda: self._running == 0)
                yield
            return
        async with self._solo:
            self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            async with self._changed:
                self._changed.notify_all()
