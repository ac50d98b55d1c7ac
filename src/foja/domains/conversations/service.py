"""Conversations: open, append, reserve, read, follow, prove, protect.

Events are the only state of an approval, so a restart loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Generic
from uuid import UUID

from foja.domains.conversations.tools import use_tools
from foja.engine.ledger.event import Draft, Event, EventRow, Transient, new_id, parse_id
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.reader import HIGHEST
from foja.engine.ledger.slots import Reserver
from foja.engine.ledger.stream import Document, Protect, ProtectableStream
from foja.errors import (
    BadPayload,
    FojaError,
    IdempotencyConflict,
    Refused,
    SlotFilled,
    SlotVoided,
    UnknownApproval,
    WrongExpectedSeq,
)
from foja.pure.core.canonical import canonical
from foja.pure.models.conversations.approvals import (
    APPROVED,
    DENIED,
    EXPIRED,
    Approval,
    Decision,
    approvals,
    decision_id,
)
from foja.pure.models.conversations.events import CONVERSATION, DECISION, check_transient

# These refusals say that another event is recorded in the place of the refused one.
PLACED = (IdempotencyConflict, SlotFilled, SlotVoided, WrongExpectedSeq)
MAX_MESSAGE = 1_000
MAX_APPROVAL_SECONDS = 366 * 86_400


class Conversation(ProtectableStream[Document]):
    """A handle on one conversation, which exists from its first event on."""

    __slots__ = ()

    def __init__(self, conversation_id: UUID, ledger: Ledger, protect: Protect[Document]) -> None:
        super().__init__(conversation_id, ledger, CONVERSATION, protect)

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
        """Append one event and return it with its number. If that fails, followers get an `error`."""
        try:  # not `_failures`: this is the path of every event
            return await super().append(
                kind, payload, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor, v=v
            )
        except PLACED:
            raise
        except FojaError as error:
            self._emit_failure(error, payload)
            raise

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all of these drafts or none. If that fails, followers get an `error`."""
        own = self._own(drafts)
        with self._failures(own[0].value if own else {}):
            return await super().append_many(own)

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself; return its event or its error. Followers get an `error` too."""
        results = await super().append_each(drafts)
        for draft, result in zip(drafts, results, strict=True):
            if isinstance(result, FojaError) and not isinstance(result, PLACED):
                self._emit_failure(result, draft.value)
        return results

    def _reserver(self) -> Reserver:
        return replace(super()._reserver(), failures=self._failures)

    @contextlib.contextmanager
    def _failures(self, payload: Mapping[str, Any]) -> Iterator[None]:
        """Send followers an `error` if the block fails and no other event takes its place."""
        try:
            yield
        except PLACED:
            raise
        except FojaError as error:
            self._emit_failure(error, payload)
            raise

    def _emit_failure(self, error: FojaError, payload: Mapping[str, Any]) -> None:
        failure = {"message": str(error)[:MAX_MESSAGE], "code": error.code}
        found = payload if isinstance(payload, dict) else {}
        for place in ((found.get("turn"), found.get("block_index")), ()):
            with contextlib.suppress(Refused):  # the place itself may be why the append failed
                self._emit("error", failure, *place)
                return

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
        return self._emit(kind, payload, turn, block_index, event_index, v)

    def _emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        turn: str | int | None = None,
        block_index: int | None = None,
        event_index: int | None = None,
        v: int = 1,
    ) -> Transient:
        rule = check_transient(
            kind, payload, turn=turn, block_index=block_index, event_index=event_index, v=v
        )
        place = (turn, block_index, event_index)
        transient = Transient(self.id, new_id(), rule.name, datetime.now(UTC), *place, payload, rule.v)
        self._ledger.emit(transient)
        return transient

    tools = use_tools  # its first argument is the conversation

    async def request_approval(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any],
        *,
        ttl: float = 300,
        approval_id: str | None = None,
        tool_use_id: str | None = None,
        policy: str | None = None,
        turn: str | int | None = None,
        block_index: int | None = None,
        actor: str | None = None,
    ) -> Approval:
        """Request an approval within `ttl` seconds. The same id returns the first request.

        `policy` names the rule that demands it; the decision repeats it.
        """
        if not 0 < ttl <= MAX_APPROVAL_SECONDS:
            raise BadPayload(
                f"not a valid ttl of an approval: {ttl}; expected up to {MAX_APPROVAL_SECONDS:,} seconds"
            )
        name = str(new_id()) if approval_id is None else approval_id
        due = (await self._ledger.now() + timedelta(seconds=ttl)).isoformat()
        call = {"approval_id": name, "tool_name": tool_name, "tool_args": dict(tool_args), "expires_at": due}
        call["decision_id"] = str(decision_id(self.id, name))
        optional = {"tool_use_id": tool_use_id, "policy": policy, "turn": turn, "block_index": block_index}
        payload = call | {field: value for field, value in optional.items() if value is not None}
        try:
            key = f"approval_requested:{name}"
            await self.append("approval_requested", payload, actor=actor, idempotency_key=key, v=2)
        except IdempotencyConflict:
            await self._ledger.await_standbys()
        return await self.approval(name)

    async def decide(
        self, approval_id: str, decision: str, *, reason: str | None = None, actor: str | None = None
    ) -> Decision:
        """Decide `approved` or `denied`. Return the decision that counts: the first one, or the expiry."""
        if decision not in (APPROVED, DENIED):
            raise BadPayload(f"not a valid decision: {decision!r}; expected {APPROVED!r} or {DENIED!r}")
        approval = await self.approval(approval_id)
        if approval.open:
            approval = await self._settle(approval, decision, reason, actor)
        elif approval.decided_seq is None:
            approval = await self._settle(approval, EXPIRED)
        else:
            await self._ledger.await_standbys()
        return Decision(approval, approval.matches(decision, reason, actor))

    async def approval(self, approval_id: str) -> Approval:
        """Return an approval with its state."""
        found = await self._read_approvals(approval_id)
        if approval_id not in found:
            raise UnknownApproval(f"unknown approval {approval_id!r}; use an id from request_approval()")
        return found[approval_id]

    async def approvals(self) -> list[Approval]:
        """Return every approval that was requested, in order."""
        return list((await self._read_approvals(None)).values())

    async def wait_for_approval(self, approval_id: str) -> Approval:
        """Wait until an approval is decided or expired and return it. After a restart, wait again."""
        approval = await self.approval(approval_id)
        while approval.open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_seconds_left(approval, await self._ledger.now())):
                    await self._follow_until_decided(approval)
            approval = await self.approval(approval_id)
        if approval.decided_seq is None:
            return await self._settle(approval, EXPIRED)
        await self._ledger.await_standbys()
        return approval

    async def _settle(
        self, approval: Approval, decision: str, reason: str | None = None, actor: str | None = None
    ) -> Approval:
        payload = {
            "approval_id": approval.id,
            "decision": decision,
            "reason": reason,
            "request_seq": approval.requested_seq,
            "tool_name": approval.tool_name,
            "args_sha256": sha256(canonical(dict(approval.tool_args))).hexdigest(),
        } | ({"policy": approval.policy} if approval.policy is not None else {})
        try:
            await self.append(DECISION, payload, actor=actor, v=2)
        except IdempotencyConflict:
            await self._ledger.await_standbys()
        except BadPayload:
            await self.approval(approval.id)  # its request may have been erased meanwhile: then it is unknown
            raise
        return await self.approval(approval.id)

    async def _follow_until_decided(self, approval: Approval) -> None:
        """Return when an event decides this approval."""
        decision = decision_id(self.id, approval.id)
        async with contextlib.aclosing(self.follow(after=approval.requested_seq)) as events:
            async for event in events:
                if event.id == decision:
                    return

    async def _read_approvals(self, approval_id: str | None) -> dict[str, Approval]:
        decision = None if approval_id is None else decision_id(self.id, approval_id)
        values = {"entity": self.id, "approval": approval_id, "decision": decision}
        rows = await self._ledger.ask("approvals", EventRow, **values)
        return approvals([row.event(self.id) for row in rows], rows[0].now) if rows else {}


def _seconds_left(approval: Approval, now: datetime) -> float | None:
    """Return the longest time to wait, but never so short that it becomes polling."""
    if approval.expires_at is None:
        return None
    return max(0.05, (approval.expires_at - now).total_seconds())


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation in a list: its number of events, the time of the last, and the last message."""

    id: UUID
    events: int
    last_at: datetime | None
    kind: str | None
    actor: str | None
    payload: Mapping[str, Any] | None


class Conversations(Generic[Document]):
    """Every conversation of this tenant."""

    def __init__(self, ledger: Ledger, protect: Protect[Document]) -> None:
        self._ledger, self._protect = ledger.only(CONVERSATION), protect

    async def protect(
        self,
        conversation_id: UUID | str,
        required_evidence: str | Iterable[str] = ("tsa",),
        *,
        actor: str | None = None,
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        return await (await self.open(conversation_id)).protect(required_evidence, actor=actor)

    async def open(self, conversation_id: UUID | str | None = None) -> Conversation[Document]:
        """Return a new conversation, or the one with this id."""
        found = parse_id(conversation_id, CONVERSATION.name)
        return Conversation(found, self._ledger, self._protect)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of conversations, newest first; `before` is the last id of the page before."""
        return await self._ledger.entities(CONVERSATION, before, limit)

    async def summaries(self, *, before: UUID | None = None, limit: int = 100) -> Sequence[Summary]:
        """Return conversations as a list shows them, newest first."""
        values = {"before": before or HIGHEST, "limit": limit}
        return await self._ledger.ask("recent_conversations", Summary, **values)
