"""A stream over HTTP: append, read, follow, prove."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from foja.client.acts import StreamActs
from foja.client.encoding import event_from
from foja.client.events import Follower
from foja.client.problems import rebuild
from foja.client.transport import Request, Transport
from foja.engine.ledger.event import Event, StreamItem
from foja.errors import FojaError
from foja.interfaces.answers.streams import BatchAnswer, BatchEvent, ProvenEvent

PAGE_EVENTS = 1000


class History:
    """The events of one stream of the server, read and followed."""

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

    async def prove(self, seq: int) -> ProvenEvent:
        """Return the proof that an event is in the log; `NotCovered` is asked again for a while."""
        return ProvenEvent(**await self._transport.ask("GET", f"{self._path}/events/{seq}/proof"))

    async def receipt(self, seq: int) -> bytes:
        """Return a COSE receipt (RFC 9942) of the place of an event in the log, for tools of SCITT."""
        request = Request("GET", f"/v1/log/proofs/{self.id}/{seq}/receipt")
        return (await self._transport.send(request)).content


class Stream(History, StreamActs):
    """One stream of a domain of yours. It exists from its first event on."""

    def __init__(self, transport: Transport, stream_id: UUID, domain: str) -> None:
        History.__init__(self, transport, stream_id, f"/v1/streams/{domain}/{stream_id}")
        StreamActs.__init__(self, transport, {"domain": domain, "stream_id": stream_id})

    async def append_many(  # type: ignore[override]
        self,
        events: Sequence[Mapping[str, Any]],
        *,
        atomic: bool = True,
        idempotency_key: str | None = None,
    ) -> list[Event | FojaError]:
        """Append events as `{kind, payload, …}`: all or none, or each by itself with its event or error."""
        drafts = [BatchEvent(**each) for each in events]
        answer = await super().append_many(drafts, atomic=atomic, idempotency_key=idempotency_key)
        return results(answer)


def results(answer: BatchAnswer) -> list[Event | FojaError]:
    """Return the event of each event of a batch, or why there is none."""
    found: list[Event | FojaError] = []
    for each in answer.results:
        found += [each.event] if each.event else []
        found += [rebuild(asdict(each.problem))] if each.problem else []
    return found
