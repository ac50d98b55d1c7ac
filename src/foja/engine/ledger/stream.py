"""A handle on one stream: append, reserve, read, follow, prove, erase."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias
from uuid import UUID

from typing_extensions import TypeVar

from foja.engine.ledger.event import Draft, Event, StreamItem
from foja.engine.ledger.excerpts import EventProof, prove_event
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.reader import StreamState
from foja.engine.ledger.slots import Reserver, Slots
from foja.errors import BadPayload, UnknownEntity, WrongEntity
from foja.pure.core.registry import Domain

Document = TypeVar("Document", default=Any)  # the application gives it: domains do not import each other
Protect: TypeAlias = Callable[[UUID, str | Iterable[str], str | None], Awaitable[Document]]


class Stream:
    """One stream of a domain. It exists from its first event on."""

    __slots__ = ("_ledger", "domain", "id")

    def __init__(self, entity_id: UUID, ledger: Ledger, domain: Domain) -> None:
        self.id, self.domain, self._ledger = entity_id, domain, ledger

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
        """Append one event and return it with its number."""
        event = self.draft(
            kind, payload, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor, v=v
        )
        return await self._ledger.append(event)

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all of these drafts or none."""
        return await self._ledger.append_many(self._own(drafts))

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself; return its event or its error for each."""
        return await self._ledger.append_each(self._own(drafts))

    def draft(self, kind: str, payload: Mapping[str, Any], **more: Any) -> Draft:
        """Return an event of this stream that is checked but not appended."""
        return self._ledger.draft(self.domain, self.id, kind, payload, **more)

    def _own(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        for draft in drafts:
            if not isinstance(draft, Draft):
                raise BadPayload(f"{draft!r:.100} is not a draft; make one with draft()")
            if draft.entity_id != self.id:
                raise WrongEntity(f"a draft is for {draft.entity_id}, not for {self.id}; append it there")
        return drafts

    async def reserve(self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None) -> Slots:
        """Reserve the next `count` numbers, to be filled in any order within `ttl` seconds."""
        return await self._reserver().reserve(self.id, count, ttl, intents)

    def slots(self, token: UUID, seqs: Sequence[int]) -> Slots:
        """Return a reservation that another process made, from its token and its numbers."""
        return self._reserver().resume(self.id, seqs, token)

    def _reserver(self) -> Reserver:
        return self._ledger.reserver(self.domain)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number, open slots as `slot.open`."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events and transients, without end."""
        return self._ledger.follow(self.id, after)

    async def state(self) -> StreamState:
        """Return the next number of this stream and how many events are sealed."""
        return await self._ledger.state(self.id)

    async def check_domain(self) -> None:
        """Raise `UnknownEntity` if this stream has events of another domain."""
        rows = await self._ledger.ask("stream_domain", entity=self.id)
        if rows and rows[0][0] != self.domain.name:
            raise UnknownEntity(f"there is no {self.domain.name} {self.id}; check the id and the domain")

    async def gaps(self) -> int:
        """Return how many numbers of this stream were given, never used, and voided."""
        count: int = (await self._ledger.ask("stream_gaps", entity=self.id))[0][0]
        return count

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._ledger, self.id, seq)

    async def erase(self, seq: int, *, reason: str, actor: str | None = None) -> None:
        """Erase the body of one event. Its hash and every proof of it stay valid."""
        await self._ledger.erase(self.domain, self.id, seq, reason=reason, actor=actor)


class ProtectableStream(Stream, Generic[Document]):
    """A stream of an installation, which can become a document."""

    __slots__ = ("_protect",)

    def __init__(self, entity_id: UUID, ledger: Ledger, domain: Domain, protect: Protect[Document]) -> None:
        super().__init__(entity_id, ledger, domain)
        self._protect = protect

    async def protect(
        self, required_evidence: str | Iterable[str] = ("tsa",), *, actor: str | None = None
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        await self.state()  # refuses a stream of another domain
        return await self._protect(self.id, required_evidence, actor)
