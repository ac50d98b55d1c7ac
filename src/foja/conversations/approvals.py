"""Approvals: request, decide, wait, expire. Events are the only state, so a restart loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast
from uuid import UUID

from foja import sql
from foja.conversations.model.approvals import APPROVED, DENIED, EXPIRED, Approval, approvals
from foja.conversations.model.events import CONVERSATION
from foja.driver.database import Database
from foja.errors import BadPayload, IdempotencyConflict, UnknownApproval
from foja.ledger.event import Event, new_id
from foja.ledger.ledger import Ledger
from foja.ledger.live.notifier import Notifier

EXPIRY_LIMIT = 100
MAX_SECONDS = 366 * 86_400
Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision in effect, and whether it is the caller's. The first decision or expiry wins."""

    approval: Approval
    mine: bool

    @property
    def decision(self) -> str:
        """approved, denied or expired."""
        return self.approval.state


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of one conversation."""

    conversation_id: UUID
    _ledger: Ledger

    async def request(
        self,
        tool_name: str,
        tool_args: Payload,
        *,
        ttl: float,
        approval_id: str | None,
        actor: str | None,
        place: Payload,
    ) -> Approval:
        """Request an approval. The same id again returns the first request, so a restart may repeat it."""
        if not 0 < ttl <= MAX_SECONDS:
            raise BadPayload(f"not a valid ttl of an approval: {ttl}; expected up to {MAX_SECONDS:,} seconds")
        name = str(new_id()) if approval_id is None else approval_id
        due = (datetime.now(UTC) + timedelta(seconds=ttl)).isoformat()
        call = {"approval_id": name, "tool_name": tool_name, "tool_args": dict(tool_args)}
        key = f"approval_requested:{name}"
        with contextlib.suppress(IdempotencyConflict):
            await self._append("approval_requested", {**call, "expires_at": due, **place}, actor, key)
        return await self.one(name)

    async def decide(
        self, approval_id: str, decision: str, *, reason: str | None, actor: str | None
    ) -> Decision:
        """Decide, unless it is decided or expired; return the decision in effect."""
        if decision not in (APPROVED, DENIED):
            raise BadPayload(f"not a valid decision: {decision!r}; expected {APPROVED!r} or {DENIED!r}")
        approval = await self.one(approval_id)
        if approval.open:
            approval = await self._settle(approval_id, decision, reason, actor)
        elif approval.decided_seq is None:
            approval = await self._settle(approval_id, EXPIRED, None, None)
        return Decision(approval, approval.matches(decision, reason, actor))

    async def wait(self, approval_id: str) -> Approval:
        """Return the approval once it is decided or expired; call it again after a restart."""
        approval = await self.one(approval_id)
        while approval.open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_seconds_left(approval)):
                    await self._follow_until_decided(approval)
            approval = await self.one(approval_id)
        if approval.decided_seq is None:
            approval = await self._settle(approval_id, EXPIRED, None, None)
        return approval

    async def one(self, approval_id: str) -> Approval:
        """Return one approval with its state."""
        found = await self._read(approval_id)
        if approval_id not in found:
            raise UnknownApproval(f"unknown approval {approval_id!r}; use an id from request_approval()")
        return found[approval_id]

    async def all(self) -> list[Approval]:
        """Return every approval that was requested, in order."""
        return list((await self._read(None)).values())

    async def _settle(
        self, approval_id: str, decision: str, reason: str | None, actor: str | None
    ) -> Approval:
        payload = {"approval_id": approval_id, "decision": decision, "reason": reason}
        with contextlib.suppress(IdempotencyConflict):
            await self._append("approval_completed", payload, actor, None)
        return await self.one(approval_id)

    async def _append(self, kind: str, payload: Payload, actor: str | None, key: str | None) -> Event:
        draft = self._ledger.draft(
            CONVERSATION, self.conversation_id, kind, payload, actor=actor, idempotency_key=key
        )
        return await self._ledger.append(draft)

    async def _follow_until_decided(self, approval: Approval) -> None:
        """Return when an event decides this approval."""
        following = self._ledger.follow(self.conversation_id, approval.requested_seq)
        async with contextlib.aclosing(cast(AsyncGenerator[Any, None], following)) as events:
            async for event in events:
                if event.kind == "approval_completed" and event.payload["approval_id"] == approval.id:
                    return

    async def _read(self, approval_id: str | None) -> dict[str, Approval]:
        rows = await self._ledger.ask("approvals", entity=self.conversation_id, approval=approval_id)
        events = [Event(self.conversation_id, *row[:-1]) for row in rows]
        return approvals(events, rows[0][-1]) if rows else {}


async def expire_approvals(database: Database, notifier: Notifier) -> int:
    """Record the expiry of undecided approvals; return how many were due."""
    due = await database.rows(sql.query("due_approvals"), most=EXPIRY_LIMIT)
    for entity, decision in due:
        with contextlib.suppress(IdempotencyConflict):  # decided at the last moment
            await database.row(sql.query("expire_approval"), entity=entity, event=decision)
        notifier.touch(entity)
    return len(due)


def _seconds_left(approval: Approval) -> float | None:
    """Return the longest time to wait, but never so short that it becomes polling."""
    if approval.expires_at is None:
        return None
    return max(0.05, (approval.expires_at - datetime.now(UTC)).total_seconds())
