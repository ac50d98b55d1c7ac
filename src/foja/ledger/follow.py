"""Following: catch up, then live. A reader's place is its own, so nothing is lost with a connection.

Open slots never freeze a reader: what stands above one is delivered without a
cursor, and what fills it comes when it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from uuid import UUID

from foja.errors import Unavailable
from foja.ledger.event import Event, Reset
from foja.ledger.hints import Hints
from foja.ledger.read import Position, Reader

PAGE = 500
POLL = 1.0


async def follow(
    reader: Reader, hints: Hints, entity_id: UUID, after: str | int | None
) -> AsyncIterator[Event | Reset]:
    """Yield every event of a stream after a cursor, for ever."""
    position: Position | None = None
    with hints.watch(entity_id) as woken:
        while True:
            woken.clear()
            try:
                if position is None:
                    started = await reader.start(entity_id, after)
                    if isinstance(started, Reset):
                        yield started
                        after = None
                        continue
                    position = started
                reset, events = await _advance(reader, entity_id, position)
            except Unavailable:
                await asyncio.sleep(0.2)
                continue
            if reset:
                yield reset
                position, after = None, None
                continue
            for event in events:
                yield event
            if len(events) < PAGE:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL):
                        await woken.wait()


async def _advance(reader: Reader, entity_id: UUID, position: Position) -> tuple[Reset | None, list[Event]]:
    state = await reader.state(entity_id)
    if state.epoch != position.epoch:
        return Reset("epoch"), []
    if state.next_seq <= position.head:
        return Reset("future"), []
    events = await reader.filled(entity_id, position)
    if state.next_seq > position.head + 1:
        events += await reader.tail(entity_id, position, PAGE)
    return None, events
