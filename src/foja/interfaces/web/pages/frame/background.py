"""Values that may be too slow for a page: computed beside it, and the old ones shown meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from foja.engine.tasks import end
from foja.errors import FojaError

QUICK_SECONDS: Final = 0.05  # a page waits for a value that is as quick as this
FIRST_SECONDS: Final = 2.0  # and for the first one as long as this
MAX_SHARE: Final = 0.05  # a value that takes long is computed seldom: it uses at most this share of the time
Owner = TypeVar("Owner")
Value = TypeVar("Value")
log = logging.getLogger("foja.web")
_running: set[asyncio.Task[None]] = set()  # of all pages and loops


@dataclass(frozen=True, slots=True)
class Computed(Generic[Value]):
    """A value, when it was there, and how long it took."""

    value: Value
    at: float
    seconds: float


async def stop() -> None:
    """End what is being computed in this event loop, so that nothing uses the database any more."""
    loop = asyncio.get_running_loop()
    await end([task for task in _running if task.get_loop() is loop])


class Background(Generic[Owner, Value]):
    """The last value of each owner."""

    def __init__(self, load: Callable[[Owner], Awaitable[Value]], seconds: float) -> None:
        """A value is old after so many seconds, or later if it takes long."""
        self._load, self._seconds = load, seconds
        self._values: WeakKeyDictionary[Owner, Computed[Value]] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[Owner, asyncio.Task[None]] = WeakKeyDictionary()

    def get(self, owner: Owner) -> Value | None:
        """Return the last value, or None while the first one is computed; compute a new one if it is old."""
        found = self._values.get(owner)
        if found is None or self._is_old(found):
            self.start(owner)
        return found.value if found else None

    async def wait(self, owner: Owner) -> Value | None:
        """Do the same, but wait a moment for the first value, and for a new one that is quick to compute."""
        found = self._values.get(owner)
        self.get(owner)
        if self.runs(owner) and (found is None or found.seconds < QUICK_SECONDS):
            await asyncio.wait([self._tasks[owner]], timeout=FIRST_SECONDS)
        return self.last(owner)

    async def renew(self, owner: Owner) -> Value:
        """Compute a new value now."""
        began = time.monotonic()
        value = await self._load(owner)
        self._values[owner] = Computed(value, time.monotonic(), time.monotonic() - began)
        return value

    def last(self, owner: Owner) -> Value | None:
        """Return the last value, if there is one. Nothing is computed."""
        found = self._values.get(owner)
        return found.value if found else None

    def runs(self, owner: Owner) -> bool:
        """Return whether a value is being computed."""
        task = self._tasks.get(owner)
        return task is not None and not task.done()

    def start(self, owner: Owner) -> None:
        """Compute a new value, unless one is being computed."""
        if not self.runs(owner):
            task = self._tasks[owner] = asyncio.create_task(self._refresh(owner))
            _running.add(task)
            task.add_done_callback(_running.discard)

    def _is_old(self, found: Computed[Value]) -> bool:
        return time.monotonic() - found.at > max(self._seconds, found.seconds / MAX_SHARE)

    async def _refresh(self, owner: Owner) -> None:
        try:
            await self.renew(owner)
        except FojaError as error:
            log.warning("a value of a page could not be computed: %s", error)
