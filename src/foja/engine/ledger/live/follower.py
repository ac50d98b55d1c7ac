"""Follow a stream: catch up, then live. The reader keeps its position, so a lost connection loses nothing.

An open slot does not block a reader: events above it are delivered without a
cursor, and the event that fills it is delivered later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

from foja.engine.ledger.event import Event, Reset, StreamItem, Transient
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.reader import Position, StreamReader, StreamState
from foja.errors import Unavailable

PAGE_EVENTS = 500
POLL_SECONDS = 1.0
RETRY_SECONDS = 0.2


class Follower:
    """One reader's position in a stream. Every event is returned exactly once."""

    def __init__(
        self,
        reader: StreamReader,
        entity_id: UUID,
        after: str | int | None,
        position: Position | None = None,
        page: int = PAGE_EVENTS,
    ) -> None:
        self.entity_id, self.position = entity_id, position
        self.behind = True  # whether the next step may return more without waiting
        self._checked = False  # whether the next event is known to be still stored
        self._reader, self._after, self.page = reader, after, page

    @property
    def key(self) -> tuple[str, UUID]:
        """The tenant and the stream."""
        return self._reader.tenant, self.entity_id

    async def step(self) -> Sequence[Event | Reset]:
        """Return the next events, a page at most, or a reset if the reader must start again."""
        if self.position is None:
            started = await self._reader.start(self.entity_id, self._after)
            if isinstance(started, Reset):
                return self.reset(started)
            self.position = started
        return await self._advance(self.position)

    def reset(self, reason: Reset) -> Sequence[Reset]:
        """Start again from the first event."""
        self.position, self._after, self.behind, self._checked = None, None, True, False
        return [reason]

    async def _advance(self, position: Position) -> Sequence[Event | Reset]:
        state = await self._reader.state(self.entity_id)
        if state.epoch != position.epoch:
            return self.reset(Reset("epoch"))
        if state.next_seq <= position.head:
            return self.reset(Reset("future"))
        if (first := await self._pruned(position, state)) is not None:
            if position.head >= 0:
                return self.reset(Reset("pruned"))
            position.head = first - 1
        events = await self._reader.filled(self.entity_id, position, self.page)
        more = state.next_seq > position.head + 1 and len(events) < self.page
        try:
            events += (
                await self._reader.tail(self.entity_id, position, self.page - len(events)) if more else []
            )
        except Unavailable:
            if not events:
                raise
            self.behind = True  # these events are not read again, so they are returned now
            return events
        self.behind = len(events) >= self.page
        return events

    async def _pruned(self, position: Position, state: StreamState) -> int | None:
        """Return the first number that is still stored, if the reader's next event is not."""
        if self._checked or position.head + 1 >= state.sealed:
            return None
        first = await self._reader.first(self.entity_id, position.head)
        self._checked = True
        first = state.sealed if first is None else first
        return first if first > position.head + 1 else None


async def follow(
    notifier: Notifier, follower: Follower, listening: AbstractContextManager[None]
) -> AsyncGenerator[StreamItem]:
    """Yield every event that `follower` does not have yet, and every transient, for ever.

    `listening` is held meanwhile: it receives the transients of other processes.
    """
    due = True
    transients: list[Transient] = []
    with listening, notifier.watch(follower.key) as subscription:
        while True:
            due = due or subscription.grown
            subscription.clear()
            transients += subscription.take()
            ends = [each for each in transients if each.block_index is None]
            try:
                frames = await follower.step() if due or ends else ()
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            transients += subscription.take()
            ends = [] if follower.behind else ends
            # A chunk of a block comes before the event with the whole block. A transient without a block,
            # such as the end of a turn, comes after every event that was recorded when it was emitted.
            chunks = [each for each in transients if each.block_index is not None]
            transients = [each for each in transients if each.block_index is None and each not in ends]
            for frame in (*chunks, *frames, *ends):
                yield frame
            due = follower.behind or not await subscription.wait(POLL_SECONDS)
