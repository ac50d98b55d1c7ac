"""Values that are too slow for a page: computed beside it, at most every so many seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from foja.errors import FojaError

Owner = TypeVar("Owner")
Value = TypeVar("Value")
log = logging.getLogger("foja.web")


class Background(Generic[Owner, Value]):
    """The last value of each owner. Asking never waits; an old value is shown until there is a new one."""

    def __init__(self, load: Callable[[Owner], Awaitable[Value]], seconds: float) -> None:
        self._load, self._seconds = load, seconds
        self._values: WeakKeyDictionary[Owner, tuple[Value, float]] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[Owner, asyncio.Task[None]] = WeakKeyDictionary()

    def get(self, owner: Owner) -> Value | None:
        """Return the last value, or None while the first one is computed; compute a new one if it is old."""
        found = self._values.get(owner)
        if found is None or time.monotonic() - found[1] > self._seconds:
            self.start(owner)
        return found[0] if found else None

    def last(self, owner: Owner) -> Value | None:
        """Return the last value, if there is one. Nothing is computed."""
        found = self._values.get(owner)
        return found[0] if found else None

    def runs(self, owner: Owner) -> bool:
        """Return whether a value is being computed."""
        task = self._tasks.get(owner)
        return task is not None and not task.done()

    def start(self, owner: Owner) -> None:
        """Compute a new value, unless one is being computed."""
        if not self.runs(owner):
            self._tasks[owner] = asyncio.create_task(self._refresh(owner))

    async def _refresh(self, owner: Owner) -> None:
        try:
            self._values[owner] = (await self._load(owner), time.monotonic())
        except FojaError as error:
            log.warning("a value of a page could not be computed: %s", error)
