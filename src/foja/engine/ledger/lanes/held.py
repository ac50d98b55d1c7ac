"""Streams whose row or lane another session holds. Their appends are retried apart from all others.

Nothing waits longer for a lock than `LOCK_SECONDS`. Then the stream is known as held: its appends
go in order, one call at a time, over a connection that serves only held streams, and everything
else that needs the stream waits for its turn, so that a held stream uses one connection at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from foja.engine.driver.database import Locked
from foja.engine.ledger.event import Draft, Event
from foja.engine.metrics import HELD_STREAMS
from foja.engine.tasks import end
from foja.errors import Busy, FojaError, LedgerUnavailable, Unavailable

BRIEF_LOCK_SECONDS = 0.05  # on the connection for held streams: each try delays the other held ones
HELD_SECONDS = 2.0  # how long a stream counts as held after a lock timeout
PAUSES = (0.02, 0.5)
MAX_BATCH = 256
AppendResult = Event | FojaError
Send = Callable[[Sequence[Draft]], Awaitable[list[AppendResult]]]
log = logging.getLogger("foja.locks")


@dataclass(frozen=True, slots=True)
class Waiting:
    """An append of a held stream, and until when it is tried."""

    draft: Draft
    until: float
    result: asyncio.Future[AppendResult]


@dataclass(slots=True)
class Turn:
    """The turn of a held stream, and how many callers use it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class HeldStreams:
    """The held streams of one process, with a queue of appends for each."""

    def __init__(self, send: Send, retry_seconds: float) -> None:
        self._send, self._retry = send, retry_seconds
        self._queues: dict[UUID, deque[Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._until: dict[UUID, float] = {}
        self._turns: dict[UUID, Turn] = {}

    @property
    def known(self) -> bool:
        """Whether any stream is or was held lately."""
        return bool(self._queues or self._until)

    def __contains__(self, entity_id: UUID) -> bool:
        return entity_id in self._queues or self._until.get(entity_id, 0.0) > _now()

    def mark(self, entity_ids: Iterable[UUID]) -> None:
        """Note that one of these streams is held."""
        now = _now()
        self._until = {each: until for each, until in self._until.items() if until > now}
        self._until.update(dict.fromkeys(entity_ids, now + HELD_SECONDS))

    @asynccontextmanager
    async def turn(self, entity_id: UUID, until: float) -> AsyncIterator[None]:
        """Wait for the other callers of a held stream. Raise `Busy` if that takes too long."""
        turn = self._turns.setdefault(entity_id, Turn())
        turn.users += 1
        try:
            try:
                async with asyncio.timeout_at(until):
                    await turn.lock.acquire()
            except TimeoutError:
                raise Busy(f"another session holds stream {entity_id}; end its transaction") from None
            try:
                yield
            finally:
                turn.lock.release()
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[entity_id]

    async def append(self, draft: Draft) -> Event:
        """Append an event after the others that wait for its stream. Raise `Busy` if it stays held."""
        waiting = Waiting(draft, _now() + self._retry, asyncio.get_running_loop().create_future())
        if draft.entity_id not in self._queues:
            self._queues[draft.entity_id] = deque()
            task = asyncio.create_task(self._empty(draft.entity_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._queues[draft.entity_id].append(waiting)
        result = await waiting.result
        if isinstance(result, FojaError):
            raise result.with_traceback(None)  # other callers raise it, too
        return result

    async def close(self) -> None:
        """Stop. Waiting appends fail with `LedgerUnavailable`."""
        await end(self._tasks)

    async def _empty(self, entity_id: UUID) -> None:
        queue, pause, held = self._queues[entity_id], PAUSES[0], False
        try:
            while queue:
                error = await self._try(queue)
                if error is None:
                    continue
                if isinstance(error, Locked) and not held:
                    held = True
                    HELD_STREAMS.inc()
                    log.warning("stream %s: %s", entity_id, error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, PAUSES[1])
        finally:
            del self._queues[entity_id]
            _answer(queue, LedgerUnavailable("this process is closing; the event may have been written"))
            if held:
                HELD_STREAMS.dec()
                log.warning("stream %s: no append waits for the other session any more", entity_id)

    async def _try(self, queue: deque[Waiting]) -> Unavailable | None:
        """Send the first appends of a queue. If that fails, keep those that have time left."""
        batch = [queue[n] for n in range(min(len(queue), MAX_BATCH))]
        try:
            results = await self._results([each.draft for each in batch])
        except Unavailable as error:
            while queue and queue[0].until <= _now():
                _answer([queue.popleft()], error)
            return error
        for each, result in zip(batch, results, strict=True):
            queue.popleft()
            _answer([each], result)
        return None

    async def _results(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        try:
            return await self._send(drafts)
        except Unavailable:
            raise
        except FojaError as error:
            if len(drafts) == 1:
                return [error]
        return [result for draft in drafts for result in await self._results([draft])]


def _answer(waiting: Iterable[Waiting], result: AppendResult) -> None:
    for each in waiting:
        if not each.result.done():
            each.result.set_result(result)


def _now() -> float:
    return asyncio.get_running_loop().time()
