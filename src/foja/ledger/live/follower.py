"""Following: catch up, then live. A reader's place is its own, so nothing is lost with a connection.

Open slots never freeze a reader: what stands above one is delivered without a
cursor, and what fills it comes when it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

from foja.errors import Unavailable
from foja.ledger.event import Event, Reset, StreamItem, Transient
from foja.ledger.live.notifier import Notifier, Subscription
from foja.ledger.reader import Position, StreamReader, StreamState

PAGE_EVENTS = 500
POLL_SECONDS = 1.0
RETRY_SECONDS = 0.2


class Follower:
    """One reader's place in a stream. Ask as often as you like: nothing comes twice, or never."""

    def __init__(
        self,
        reader: StreamReader,
        entity_id: UUID,
        after: str | int | None,
        position: Position | None = None,
        page: int = PAGE_EVENTS,
    ) -> None:
        self.entity_id, self.position = entity_id, position
        self.behind = True  # may there be more at once?
        self._looked = False  # whether what comes next is still kept
        self._reader, self._after, self.page = reader, after, page

    async def step(self) -> Sequence[Event | Reset]:
        """Return what this reader does not have yet, a page at most, or why it must start again."""
        if self.position is None:
            started = await self._reader.start(self.entity_id, self._after)
            if isinstance(started, Reset):
                return self.reset(started)
            self.position = started
        return await self._advance(self.position)

    def reset(self, reason: Reset) -> Sequence[Reset]:
        """Forget the place: everything comes again."""
        self.position, self._after, self.behind, self._looked = None, None, True, False
        return [reason]

    async def _advance(self, position: Position) -> Sequence[Event | Reset]:
        state = await self._reader.state(self.entity_id)
        if state.epoch != position.epoch:
            return self.reset(Reset("epoch"))
        if state.next_seq <= position.head:
            return self.reset(Reset("future"))
        if (kept := await self._pruned(position, state)) is not None:
            if position.head >= 0:
                return self.reset(Reset("pruned"))
            position.head = kept - 1
        events = await self._reader.filled(self.entity_id, position, self.page)
        more = state.next_seq > position.head + 1 and len(events) < self.page
        try:
            events += (
                await self._reader.tail(self.entity_id, position, self.page - len(events)) if more else []
            )
        except Unavailable:
            if not events:
                raise
            self.behind = True  # what was found is no longer asked for, so it is given out now
            return events
        self.behind = len(events) >= self.page
        return events

    async def _pruned(self, position: Position, state: StreamState) -> int | None:
        """Return the first number still kept, if what this reader would be given next is not."""
        if self._looked or position.head + 1 >= state.sealed:
            return None
        kept = await self._reader.first(self.entity_id, position.head)
        self._looked = True
        kept = state.sealed if kept is None else kept
        return kept if kept > position.head + 1 else None


async def follow(
    notifier: Notifier, follower: Follower, hearing: AbstractContextManager[None]
) -> AsyncGenerator[StreamItem]:
    """Yield every event that `follower` lacks, and what is said in passing, for ever.

    While it runs it keeps `hearing` what other processes say.
    """
    due = True
    passing: list[Transient] = []
    with hearing, notifier.watch(follower.entity_id) as wake:
        while True:
            due = due or wake.grown
            wake.clear()
            passing += wake.take()
            ends = [each for each in passing if each.block_index is None]
            try:
                frames = await follower.step() if due or ends else ()
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            passing += wake.take()
            ends = [] if follower.behind else ends
            # A part of a block comes before the event that holds the whole. What names no block, as
            # the end of a turn, comes after every event that was there when it was said.
            parts = [each for each in passing if each.block_index is not None]
            passing = [each for each in passing if each.block_index is None and each not in ends]
            for frame in (*parts, *frames, *ends):
                yield frame
            due = follower.behind or not await _woken(wake)


async def _woken(wake: Subscription) -> bool:
    """Wait for a wake-up; say whether it came before it was time to look anyway."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            await wake.wait()
            return True
    return False
