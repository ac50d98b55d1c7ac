"""A few shared pipelines. A request goes to the one with the fewest open requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter

from foja.engine.driver.encoding import Value
from foja.engine.driver.pipeline import Pipeline
from foja.errors import Refused

CLOSE_POLLS = 200  # 5 ms apart
_waiting = attrgetter("waiting")


class PoolClosed(Refused):
    """The pool is closed. A call that is repeated after a lost answer may have been carried out."""


class PipelinePool:
    """Opens up to `most` pipelines as needed. Broken ones are removed."""

    def __init__(self, make: Callable[[], Awaitable[Pipeline]], most: int) -> None:
        self._make, self._most = make, most
        self._open: list[Pipeline] = []
        self._making = 0
        self._changed = asyncio.Event()
        self._closed = False

    async def ask(self, statement: str, values: Sequence[Value], tenant: str | None = None) -> bytes:
        """Run a prepared statement, for one tenant if named, and return its only value."""
        return await (await self._choose()).ask(statement, values, tenant)

    async def close(self) -> None:
        """Close every pipeline once its requests have their results, or after a timeout."""
        self._closed = True
        self._wake()
        for pipeline in self._open:
            pipeline.retire()
        for _ in range(CLOSE_POLLS):
            if all(pipeline.broken for pipeline in self._open):
                break
            await asyncio.sleep(0.005)
        for pipeline in self._open:
            pipeline.drop()

    async def _choose(self) -> Pipeline:
        while True:
            if self._closed:
                raise PoolClosed("this app is closed; connect again")
            best = min(self._open, key=_waiting, default=None)
            if best and best.broken:  # it has no open requests, so it is found before a busy one
                self._open = [pipeline for pipeline in self._open if not pipeline.broken]
                continue
            if best and (best.waiting == 0 or self._full()):
                return best
            if not self._full():
                return await self._add()
            await self._changed.wait()

    def _full(self) -> bool:
        return len(self._open) + self._making >= self._most

    async def _add(self) -> Pipeline:
        self._making += 1
        try:
            pipeline = await self._make()
            if self._closed:
                pipeline.drop()
                raise PoolClosed("this app is closed; connect again")
            self._open.append(pipeline)  # at once: the caller may be cancelled below
            return pipeline
        finally:
            self._making -= 1
            self._wake()

    def _wake(self) -> None:
        """Let every waiting caller look again. Without a lock: none can miss it between look and wait."""
        self._changed.set()
        self._changed = asyncio.Event()
