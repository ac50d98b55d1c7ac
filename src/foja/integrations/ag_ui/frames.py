"""A conversation as an AG-UI event stream, over server-sent events.

Every connection begins with a run, a snapshot of all messages and of the state, and goes on
live; so it may be cut anywhere, and joined again anywhere. An event of the ledger may become
several frames: only the last of them carries its cursor as the id, and only where everything
below it was sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import NamedTuple, cast

from ag_ui.core import BaseEvent

from foja.conversations.service import Conversation
from foja.integrations.ag_ui.encoder import Encoder
from foja.ledger.event import Event, Reset, Transient

PAGE_EVENTS = 1000


class AgUiFrame(NamedTuple):
    """One AG-UI event; `id` is where a client that has seen it may go on."""

    event: BaseEvent
    id: str | None


async def frames(
    talk: Conversation,
    *,
    one_run: bool = False,
    shown: Sequence[str] | None = None,
    last: int | None = None,
) -> AsyncGenerator[AgUiFrame, None]:
    """Yield a conversation as AG-UI frames: for ever, or until a run is over.

    `shown` are the ids of the messages the client has; not knowing them, it is told to forget first.
    With `last`, the snapshot holds only turns that began within so many events.
    """
    while True:
        events = await (_all(talk) if last is None else _last(talk, last))
        telling = Encoder(talk.id)
        cursor = next((event.cursor for event in reversed(events) if event.cursor), None)
        for frame in _under(telling.join(events, shown), cursor):
            yield frame
        if one_run and not telling.running:
            return
        async with aclosing(_live(talk, events)) as live:
            async for item in live:
                for frame in _under(telling.take(item), item.cursor):
                    yield frame
                if one_run and not telling.running:
                    return
        for frame in _under(telling.leave(), None):  # a reset: everything is said again
            yield frame
        shown = None


def encode(frame: AgUiFrame) -> bytes:
    """Return a frame as a server-sent event."""
    data = frame.event.model_dump_json(by_alias=True, exclude_none=True)
    named = "" if frame.id is None else f"id: {frame.id}\n"
    return f"{named}data: {data}\n\n".encode()


async def _live(talk: Conversation, events: Sequence[Event]) -> AsyncGenerator[Event | Transient, None]:
    """Yield what comes after these events, until there is a reset."""
    seen = {event.seq for event in events if not event.open}
    below = events[0].seq - 1 if events else None
    prefix = next((event.seq for event in reversed(events) if event.cursor), below)
    follow = cast("AsyncIterator[Event | Transient | Reset]", talk.follow(after=prefix))
    async for item in follow:
        if isinstance(item, Reset):
            return
        if item.seq is None or item.seq not in seen:
            yield item


async def _all(talk: Conversation) -> list[Event]:
    events: list[Event] = []
    while page := await talk.events(after=events[-1].seq if events else None, limit=PAGE_EVENTS):
        events += page
    return events


async def _last(talk: Conversation, most: int) -> list[Event]:
    """Return the last events, from the first question among them on."""
    head = (await talk.state()).next_seq
    events = await talk.events(after=max(head - most, 0) - 1, limit=most)
    first = next((n for n, event in enumerate(events) if event.kind == "user_message_sent"), 0)
    return events[first:]


def _under(told: Sequence[BaseEvent], cursor: str | None) -> list[AgUiFrame]:
    return [AgUiFrame(event, cursor if n == len(told) - 1 else None) for n, event in enumerate(told)]
