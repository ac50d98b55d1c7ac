"""A stream over HTTP: append, read, follow, prove."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from foja.client.events import Follower, event_from
from foja.client.problems import rebuild
from foja.client.transport import Request, Transport
from foja.errors import FojaError
from foja.ledger.event import Event, StreamItem

PAGE_EVENTS = 1000

if TYPE_CHECKING:
    from foja.judge.report import Report


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream is."""

    next_seq: int
    sealed: int
    gaps: int


@dataclass(frozen=True, slots=True)
class EventProof:
    """An event and the proof that the log has it, as the texts of their files."""

    event: str
    proof: str
    index: int
    size: int
    key: str  # the log's own; take the key that you trust from elsewhere
    arguments: str | None = None  # those whose SHA-256 the event names

    def file(self) -> bytes:
        """Return event, proof and checkpoint as one file, which `foja verify` and other tools check."""
        from foja.core.bundle.proof_file import proof_file

        return proof_file(self.event, self.proof, self.arguments)

    def save(self, path: str | PathLike[str]) -> None:
        """Write `file` to a path, which usually ends in `.foja-proof`."""
        Path(path).write_bytes(self.file())

    def verify(self, trust: str | bytes | Sequence[str | bytes]) -> Report:
        """Judge it here, without the server. `trust` is the key of the log as you know it."""
        from foja.verification import verify

        return verify(self.file(), trust)


class Stream:
    """One stream of the server. It exists from its first event on."""

    def __init__(self, transport: Transport, stream_id: UUID, path: str) -> None:
        self.id, self._transport, self._path = stream_id, transport, path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id})"

    async def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
        v: int = 1,
    ) -> Event:
        """Append one event and return it with its number. A lost answer is asked for again, safely."""
        body = {"kind": kind, "payload": dict(payload), "expected_seq": expected_seq, "actor": actor, "v": v}
        document, new = await self._transport.append(f"{self._path}/events", body, idempotency_key)
        return event_from(document, replayed=not new)

    async def append_many(
        self, events: Sequence[Mapping[str, Any]], *, atomic: bool = True, idempotency_key: str | None = None
    ) -> list[Event | FojaError]:
        """Append events as `{kind, payload, …}`: all or none, or each by itself with its event or error."""
        body = {"events": [dict(each) for each in events], "atomic": atomic}
        answer, _ = await self._transport.append(f"{self._path}/events/batch", body, idempotency_key)
        return [_result(each) for each in answer["results"]]

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

    async def state(self) -> StreamState:
        """Return the next number of this stream and how many events are sealed."""
        found = await self._transport.ask("GET", self._path)
        return StreamState(found["next_seq"], found["sealed"], found["gaps"])

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; `NotCovered` is asked again for a while."""
        return EventProof(**await self._transport.ask("GET", f"{self._path}/events/{seq}/proof"))

    async def receipt(self, seq: int) -> bytes:
        """Return a COSE receipt (RFC 9942) of the place of an event in the log, for tools of SCITT."""
        request = Request("GET", f"/v1/log/proofs/{self.id}/{seq}/receipt")
        return (await self._transport.send(request)).content


def _result(document: Mapping[str, Any]) -> Event | FojaError:
    if document["event"] is None:
        return rebuild(document["problem"], document["problem"]["status"])
    return event_from(document["event"], replayed=bool(document.get("replayed")))
