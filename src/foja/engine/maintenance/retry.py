"""Chores that are retried: each fault is logged once, and its end once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from foja.engine.faults import SETTLE_SECONDS, Watch
from foja.engine.jobs.assembly import Chore
from foja.errors import FojaError

ERROR_PAUSE_SECONDS = 1.0


class RetriedChore:
    """A chore that never fails: it logs an error once, calls `failed`, and retries after a pause."""

    def __init__(self, chore: Chore, name: str, failed: Callable[[FojaError], None]) -> None:
        self._chore, self._failed = chore, failed
        self._watch = Watch(f"maintenance, {name}", SETTLE_SECONDS)
        self._clock, self._retry_at = asyncio.get_running_loop().time, 0.0

    @property
    def failing(self) -> bool:
        """Whether its last fault has not ended yet."""
        return self._watch.failing

    async def __call__(self) -> int:
        """Run the chore unless it failed a moment ago; return how much it did."""
        if self._clock() < self._retry_at:
            return 0
        try:
            done = await self._chore()
            self._watch.worked()
            return done
        except FojaError as error:
            self._watch.failed(error)
            self._retry_at = self._clock() + ERROR_PAUSE_SECONDS
            self._failed(error)
            return 0
