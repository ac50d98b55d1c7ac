"""A conversation as an AG-UI event stream, over server-sent events.

Every connection begins with a run and a snapshot of all messages and of the state, then
continues live. So it may be cut at any point and joined again. An event of the ledger may
become several frames: only the last one carries the cursor as its id, and only if everything
below it was sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import NamedTuple, cast

from ag_ui.core import BaseEvent

from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event, Reset, Transient
from foja.errors import CursorLost
from foja.integrations.ag_ui.encoder import Encoder

PAGE_EVENTS = 1000


class AgUiFrame(NamedTuple):
    """One AG-UI event; `id` is the cursor from which a client may resume."""

    event: BaseEvent
    id: str | None


async def frames(
    conversation: Conversation,
    *,
    one_run: bool = False,
    shown: Sequence[str] | None = None,
    last: int | None = None,
) -> AsyncGenerator[AgUiFrame, None]:
    """Yield a conversation as AG-UI frames: without end, or until a run ends.

    `shown` are the ids of the client's messages; if they are unknown, all are removed first.
    `last` limits the snapshot to the turns that began within that many events.
    """
    while True:
        events = await (_all(conversation) if last is None else _last(conversation, last))
        encoder = Encoder(conversation.id)
        cursor = next((event.cursor for event in reversed(events) if event.cursor), None)
        for frame in _with_cursor(encoder.join(events, shown), cursor):
            yield frame
        if one_run and not encoder.running:
            return
        async with aclosing(_live(conversation, events)) as live:
            async for item in live:
                for frame in _with_cursor(encoder.encode(item), item.cursor):
                    yield frame
                if one_run and not encoder.running:
                    return
        for frame in _with_cursor(encoder.end(), None):  # after a reset, everything is sent again
            yield frame
        shown = None


def encode(frame: AgUiFrame) -> bytes:
    """Return a frame as a server-sent event."""
    data = frame.event.model_dump_json(by_alias=True, exclude_none=True)
    prefix = "" if frame.id is None else f"id: {frame.id}\n"
    return f"{prefix}data: {data}\n\n".encode()


async def _live(conversation: Conversation, events: Sequence[Event]) -> AsyncGenerator[Event | Transient]:
    """Yield the items after these events, until a reset."""
    seen = {event.seq for event in events if not event.open}
    below = events[0].seq - 1 if events else None
    prefix = next((event.seq for event in reversed(events) if event.cursor), below)
    follow = cast("AsyncIterator[Event | Transient | Reset]", conversation.follow(after=prefix))
    async for item in follow:
        if isinstance(item, Reset):
            return
        if item.seq is None or item.seq not in seen:
            yield item


async def _all(conversation: Conversation) -> list[Event]:
    events: list[Event] = []
    while page := await conversation.events(after=events[-1].seq if events else None, limit=PAGE_EVENTS):
        events += page
    return events


async def _last(conversation: Conversation, count: int) -> list[Event]:
    """Return the last events, beginning with the first user message among them."""
    head = (await conversation.state()).next_seq
    try:
        events = await conversation.events(after=max(head - count, 0) - 1, limit=count)
    except CursorLost:  # some of them were pruned
        events = (await _all(conversation))[-count:]
    first = next((n for n, event in enumerate(events) if event.kind == "user_message_sent"), 0)
    return events[first:]


def _with_cursor(events: Sequence[BaseEvent], cursor: str | None) -> list[AgUiFrame]:
    return [AgUiFrame(event, cursor if n == len(events) - 1 else None) for n, event in enumerate(events)]
