"""Conversations: open, append, reserve, read, follow, prove, protect."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from foja.conversations.approvals import Approvals, Decision
from foja.conversations.model.approvals import Approval
from foja.conversations.model.events import CONVERSATION, check_transient
from foja.conversations.tools import Tools, use_tools
from foja.errors import UnknownEntity
from foja.ledger.event import Draft, Event, StreamItem, Transient, new_id
from foja.ledger.event_proof import EventProof, prove_event
from foja.ledger.ledger import Ledger
from foja.ledger.reader import StreamState
from foja.ledger.slots import Slots
from foja.ledger.writer import AppendResult


@dataclass(frozen=True, slots=True)
class Conversation:
    """A handle on one conversation, which exists from its first event on."""

    id: UUID
    _ledger: Ledger = field(repr=False)

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
        return await self._ledger.append(
            self._ledger.draft(
                CONVERSATION,
                self.id,
                kind,
                payload,
                idempotency_key=idempotency_key,
                expected_seq=expected_seq,
                actor=actor,
                v=v,
            )
        )

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all of these drafts or none."""
        return await self._ledger.append_many(drafts)

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself; return its event or its error for each."""
        return await self._ledger.append_each(drafts)

    def draft(self, kind: str, payload: Mapping[str, Any], **more: Any) -> Draft:
        """Return an event of this conversation that is checked but not appended."""
        return self._ledger.draft(CONVERSATION, self.id, kind, payload, **more)

    async def reserve(self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None) -> Slots:
        """Reserve the next `count` numbers, to be filled in any order within `ttl` seconds."""
        return await self._ledger.reserve(CONVERSATION, self.id, count, ttl, intents)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number, open slots as `slot.open`."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncGenerator[StreamItem]:
        """Yield the events after a cursor or number, then new events and transients, without end."""
        return self._ledger.follow(self.id, after)

    async def emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        turn: str | int | None = None,
        block_index: int | None = None,
        event_index: int | None = None,
        v: int = 1,
    ) -> Transient:
        """Send a transient to the current followers. It is not numbered and not stored."""
        rule = check_transient(
            kind, payload, turn=turn, block_index=block_index, event_index=event_index, v=v
        )
        at = datetime.now(UTC)
        place = (turn, block_index, event_index)
        transient = Transient(self.id, new_id(), rule.name, at, *place, payload, rule.v)
        await self._ledger.emit(transient)
        return transient

    def slots(self, token: UUID, seqs: Sequence[int]) -> Slots:
        """Return a reservation that another process made, from its token and its numbers."""
        return self._ledger.resume(CONVERSATION, self.id, seqs, token)

    async def state(self) -> StreamState:
        """Return the next number of this conversation and how many events are sealed."""
        return await self._ledger.state(self.id)

    def tools(
        self,
        calls: Sequence[Mapping[str, Any]],
        *,
        ttl: float = 30,
        turn: str | int | None = None,
        actor: str | None = None,
        requested: bool = False,
    ) -> AbstractAsyncContextManager[Tools]:
        """Request tools, each `{tool_name, tool_args, tool_use_id?}`, and reserve a number for every result.

        The reservation lasts while the context is open, and `ttl` seconds longer if this process
        is killed. `requested` means that the requests were appended before.
        """
        place = {} if turn is None else {"turn": turn}
        return use_tools(self._ledger, self.id, calls, ttl=ttl, place=place, actor=actor, requested=requested)

    async def request_approval(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any],
        *,
        ttl: float = 300,
        approval_id: str | None = None,
        tool_use_id: str | None = None,
        turn: str | int | None = None,
        block_index: int | None = None,
        actor: str | None = None,
    ) -> Approval:
        """Request an approval within `ttl` seconds. The same id returns the first request."""
        given = {"tool_use_id": tool_use_id, "turn": turn, "block_index": block_index}
        place = {name: value for name, value in given.items() if value is not None}
        return await self._approvals.request(
            tool_name, tool_args, ttl=ttl, approval_id=approval_id, actor=actor, place=place
        )

    async def decide(
        self, approval_id: str, decision: str, *, reason: str | None = None, actor: str | None = None
    ) -> Decision:
        """Decide `approved` or `denied`. Return the decision that counts: the first one, or the expiry."""
        return await self._approvals.decide(approval_id, decision, reason=reason, actor=actor)

    async def approval(self, approval_id: str) -> Approval:
        """Return an approval with its state."""
        return await self._approvals.one(approval_id)

    async def approvals(self) -> list[Approval]:
        """Return every approval that was requested, in order."""
        return await self._approvals.all()

    async def wait_for_approval(self, approval_id: str) -> Approval:
        """Wait until an approval is decided or expired and return it. After a restart, wait again."""
        return await self._approvals.wait(approval_id)

    @property
    def _approvals(self) -> Approvals:
        return Approvals(self.id, self._ledger)

    async def prove(self, seq: int) -> EventProof:
        """Return the proof that an event is in the log; raise `NotCovered` while no checkpoint covers it."""
        return await prove_event(self._ledger, self.id, seq)

    async def erase(self, seq: int, *, reason: str, actor: str | None = None) -> None:
        """Erase the body of one event. Its hash and every proof of it stay valid."""
        await self._ledger.erase(self.id, seq, reason=reason, actor=actor)


Document = TypeVar("Document")  # given by the application, since domains do not import each other
Protect: TypeAlias = Callable[[UUID, Iterable[str]], Awaitable[Document]]


class Conversations(Generic[Document]):
    """Every conversation of this tenant."""

    def __init__(self, ledger: Ledger, protect: Protect[Document]) -> None:
        self._ledger, self._protect = ledger, protect

    async def protect(
        self, conversation_id: UUID | str, required_evidence: Iterable[str] = ("tsa",)
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        return await self._protect((await self.open(conversation_id)).id, required_evidence)

    async def open(self, conversation_id: UUID | str | None = None) -> Conversation:
        """Return a new conversation, or the one with this id."""
        if conversation_id is None:
            return Conversation(new_id(), self._ledger)
        try:
            return Conversation(UUID(str(conversation_id)), self._ledger)
        except ValueError:
            raise UnknownEntity(
                f"{conversation_id!r} is not a valid conversation id: expected a UUID"
            ) from None

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of conversations, newest first; `before` is the last id of the page before."""
        return await self._ledger.entities(CONVERSATION, before, limit)
