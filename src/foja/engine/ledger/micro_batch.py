"""Micro-batching: appends that wait at the same moment are sent in one call.

No append is delayed to fill a batch: a free writer takes what is waiting. While there is one caller, it sends
its appends by itself: waking a writer and being woken by it would cost as much as the rest of the client.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Coroutine
from typing import Any, TypeAlias

from foja import errors
from foja.engine.driver.database import Locked
from foja.engine.driver.pipeline_pool import PoolClosed
from foja.engine.ledger.event import Draft, Event
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.writer import Writer
from foja.engine.tasks import end

Waiting: TypeAlias = tuple[Draft, "asyncio.Future[AppendResult]"]
MAX_BATCH = 256
CLOSING = "this process is closing; the event may have been written"


class MicroBatches:
    """All queues of this process: one for streams in general, and one for the streams of guarded domains.

    A guard costs more for each batch than for each event, so guarded drafts are sent one batch at a time:
    those that arrive meanwhile become one batch too. Two batches would also wait for each other's streams.
    """

    def __init__(self, writer: Writer, writers: int, guarded: Collection[str]) -> None:
        self._domains = frozenset(guarded)
        self._guarded, self._others = MicroBatch(writer, 1), MicroBatch(writer, writers)

    def append(self, draft: Draft) -> Coroutine[Any, Any, Event]:
        """Append one event, in one batch with others that are waiting."""
        return (self._guarded if draft.domain in self._domains else self._others).append(draft)

    async def close(self) -> None:
        """Stop. Waiting appends fail with `LedgerUnavailable`."""
        await asyncio.gather(self._guarded.close(), self._others.close())


class MicroBatch:
    """A queue of drafts and the few writers that empty it."""

    def __init__(self, writer: Writer, writers: int) -> None:
        self._writer = writer
        self._waiting: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        self._idle = 0
        self._alone = False  # the last call carried one draft, and nothing else was waiting
        self._closed = False
        self._tasks = [asyncio.create_task(self._write()) for _ in range(writers)]

    async def append(self, draft: Draft) -> Event:
        """Append one event, in one batch with others that are waiting."""
        self._writer.check(draft)
        if self._closed:
            raise errors.Refused("this app is closed; connect again")
        if self._writer.held.known and draft.entity_id in self._writer.held:
            return await self._writer.held.append(draft)
        if self._alone and not self._waiting and self._idle == len(self._tasks):
            return await self._append_alone(draft)
        future: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        self._waiting.append((draft, future))
        self._arrived.set()
        result = await future
        if isinstance(result, Locked):
            return await self._writer.held.append(draft)
        if isinstance(result, errors.FojaError):
            raise result.with_traceback(None)  # its traceback would grow with every caller of the batch
        return result

    async def close(self) -> None:
        """Stop. Waiting appends fail with `LedgerUnavailable`."""
        self._closed = True
        await end(self._tasks)
        for _, future in self._waiting:
            if not future.done():
                future.set_result(errors.LedgerUnavailable("this process is closing; nothing was written"))

    async def _append_alone(self, draft: Draft) -> Event:
        self._alone = False  # a second caller joins the queue
        try:
            return await self._writer.append(draft)
        except PoolClosed:
            raise errors.LedgerUnavailable(CLOSING) from None
        finally:
            self._alone = True

    async def _write(self) -> None:
        while True:
            self._idle += 1
            await self._arrived.wait()
            await asyncio.sleep(0)  # a caller that just got its result may append again
            batch = self._take()
            self._idle -= 1
            if batch:
                await self._deliver(batch)

    async def _deliver(self, batch: list[Waiting]) -> None:
        results: list[AppendResult]
        try:
            results = await self._writer.append_free([draft for draft, _ in batch])
        except asyncio.CancelledError:
            closing = errors.LedgerUnavailable(CLOSING)
            self._answer(batch, [closing] * len(batch))
            raise
        except Exception as error:  # without this, the callers would wait for ever
            results = [errors.FojaError(f"unexpected error: {error!r}")] * len(batch)
        self._answer(batch, results)

    def _answer(self, batch: list[Waiting], results: list[AppendResult]) -> None:
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)

    def _take(self) -> list[Waiting]:
        """Take this writer's share of the waiting drafts, in order."""
        share = min(MAX_BATCH, -(-len(self._waiting) // self._idle))
        batch = [self._waiting.popleft() for _ in range(share)]
        if not self._waiting:
            self._arrived.clear()
        if batch:
            self._alone = len(batch) == 1 and not self._waiting
        return [(draft, future) for draft, future in batch if not future.cancelled()]
