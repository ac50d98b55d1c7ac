"""The events of one stream of the server: read, followed, proven."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from uuid import UUID

from foja.client.encoding import event_from
from foja.client.events import Follower
from foja.client.transport import Request, Transport
from foja.engine.ledger.event import Event, StreamItem

PAGE_EVENTS = 1000


class History:
    """The events of one stream."""

    def __init__(self, transport: Transport, stream_id: UUID, path: str) -> None:
        self.id, self._transport, self._path = stream_id, transport, path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id})"

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number, open slots as `slot.open`."""
        found: list[Event] = []
        size = min(limit, PAGE_EVENTS)
        path, params = f"{self._path}/events", {"after": after, "limit": size}
        while len(found) < limit:
            page = await self._transport.ask("GET", path, params=params)
            found += map(event_from, page["events"])
            if len(page["events"]) < size:
                break
            path, params = page["next"], {}
        return found[:limit]

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events and transients, without end."""
        return Follower(self._transport, f"{self._path}/stream", after).items()

    async def receipt(self, seq: int) -> bytes:
        """Return a COSE receipt (RFC 9942) of the place of an event in the log, for tools of SCITT."""
        request = Request("GET", f"/v1/log/proofs/{self.id}/{seq}/receipt")
        return (await self._transport.send(request)).content
