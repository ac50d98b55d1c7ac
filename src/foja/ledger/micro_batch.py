"""Micro-batching: appends that wait at the same moment travel in one call.

Nobody is made to wait for company: a free writer takes whatever is there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeAlias

from foja import errors
from foja.ledger.event import Draft, Event
from foja.ledger.writer import AppendResult, Writer

Waiting: TypeAlias = tuple[Draft, "asyncio.Future[AppendResult]"]
MAX_BATCH = 256


class MicroBatch:
    """A queue of drafts and the few writers that empty it."""

    def __init__(self, writer: Writer, writers: int) -> None:
        self._writer = writer
        self._waiting: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        self._idle = 0
        self._closed = False
        self._tasks = [asyncio.create_task(self._write()) for _ in range(writers)]

    async def append(self, draft: Draft) -> Event:
        """Write one event together with whatever else is waiting."""
        self._writer.check(draft)
        if self._closed:
            raise errors.Refused("this app is closed; connect again")
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        self._waiting.append((draft, answer))
        self._arrived.set()
        verdict = await answer
        if isinstance(verdict, errors.FojaError):
            raise verdict
        return verdict

    async def close(self) -> None:
        """Stop; what is still waiting is told so."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _, answer in self._waiting:
            if not answer.done():
                answer.set_result(errors.LedgerUnavailable("this process is closing; nothing was written"))

    async def _write(self) -> None:
        while True:
            self._idle += 1
            await self._arrived.wait()
            await asyncio.sleep(0)  # whoever was just answered may have more to write
            batch = self._take()
            self._idle -= 1
            if batch:
                await self._deliver(batch)

    async def _deliver(self, batch: list[Waiting]) -> None:
        verdicts: list[AppendResult]
        try:
            verdicts = await self._writer.append_each([draft for draft, _ in batch])
        except asyncio.CancelledError:
            gone = errors.LedgerUnavailable("this process is closing; it is unknown whether that was written")
            self._answer(batch, [gone] * len(batch))
            raise
        except Exception as error:  # a writer that dies would leave its callers waiting for ever
            verdicts = [errors.FojaError(f"unexpected error: {error!r}")] * len(batch)
        self._answer(batch, verdicts)

    def _answer(self, batch: list[Waiting], verdicts: list[AppendResult]) -> None:
        for (_, answer), verdict in zip(batch, verdicts, strict=True):
            if not answer.done():
                answer.set_result(verdict)

    def _take(self) -> list[Waiting]:
        """Take this writer's share of what is waiting, in order."""
        share = min(MAX_BATCH, -(-len(self._waiting) // self._idle))
        batch = [self._waiting.popleft() for _ in range(share)]
        if not self._waiting:
            self._arrived.clear()
        return [(draft, answer) for draft, answer in batch if not answer.cancelled()]
