"""Conversations: open, append, reserve, read, follow, prove, protect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from foja.conversations.approvals import Approvals, Decision
from foja.conversations.model.approvals import Approval
from foja.conversations.model.events import CONVERSATION, check_transient
from foja.conversations.tools import Tools, use_tools
from foja.ledger.event import Transient, new_id
from foja.ledger.ledger import Ledger
from foja.ledger.stream import Stream, stream_id


class Conversation(Stream):
    """A handle on one conversation, which exists from its first event on."""

    __slots__ = ()

    def __init__(self, conversation_id: UUID, ledger: Ledger) -> None:
        super().__init__(conversation_id, ledger, CONVERSATION)

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
        return Conversation(stream_id(conversation_id, CONVERSATION.name), self._ledger)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of conversations, newest first; `before` is the last id of the page before."""
        return await self._ledger.entities(CONVERSATION, before, limit)
