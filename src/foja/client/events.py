"""Events of an answer, and a stream that is followed across broken connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from foja.client.encoding import event_from, transient_from
from foja.client.transport import Transport
from foja.engine.ledger.event import OPEN, Reset, StreamItem
from foja.errors import Unavailable

RECONNECT_SECONDS, LONGEST_RECONNECT_SECONDS = 0.2, 10.0


class Follower:
    """Follows one stream: after a broken connection it resumes at its cursor and repeats nothing."""

    def __init__(self, transport: Transport, path: str, after: str | int | None) -> None:
        self._transport, self._path, self._after = transport, path, after
        self._cursor: str | None = None
        self._seen: dict[int, bool] = {}  # above the cursor: whether the number was filled

    async def items(self) -> AsyncGenerator[StreamItem]:
        """Yield events, transients and resets, without end. Raise what the server refuses."""
        pause = RECONNECT_SECONDS
        while True:
            try:
                async for item in self._connected():
                    pause = RECONNECT_SECONDS
                    yield item
            except Unavailable:
                pause = min(2 * pause, LONGEST_RECONNECT_SECONDS)
            await asyncio.sleep(pause)

    async def _connected(self) -> AsyncIterator[StreamItem]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._cursor} if self._cursor else {})
        params = {} if self._cursor else {"after": self._after}
        async with self._transport.stream(self._path, headers=headers, params=params) as answer:
            async for fields in frames(answer.aiter_lines()):
                item = self._take(fields)
                if item is not None:
                    yield item

    def _take(self, fields: Mapping[str, str]) -> StreamItem | None:
        """Return what a frame says, or None if it was said before."""
        document, name = json.loads(fields["data"]), fields.get("event", "event")
        if name == "reset":
            self._cursor, self._after = None, None
            self._seen.clear()
            return Reset(document["reason"])
        if name == "transient":
            return transient_from(document)
        event = event_from({**document, "cursor": fields.get("id")})
        filled, known = event.kind != OPEN, self._seen.get(event.seq)
        self._seen[event.seq] = filled or bool(known)
        if event.cursor:
            self._move(event.cursor)
        return event if known is None or (filled and not known) else None

    def _move(self, cursor: str) -> None:
        self._cursor = cursor
        end = int(cursor.rpartition(":")[2])
        for seq in [seq for seq in self._seen if seq <= end]:
            del self._seen[seq]


async def frames(lines: AsyncIterator[str]) -> AsyncIterator[Mapping[str, str]]:
    """Yield the fields of each server-sent event that has data; comments are left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        if not line:
            if "data" in fields:
                yield fields
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and "data" in fields else value
