"""Asking people: request, decide, wait, expire. Nothing is kept but events, so a restart loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast
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


@dataclass(frozen=True, slots=True)
class Decision:
    """What stands, and whether it is what you said; the first decision or expiry wins."""

    approval: Approval
    mine: bool

    @property
    def decision(self) -> str:
        """approved, denied or expired."""
        return self.approval.state


@dataclass(frozen=True, slots=True)
class Approvals:
    """What is asked and decided in one conversation."""

    conversation_id: UUID
    _ledger: Ledger

    async def request(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any],
        *,
        ttl: float,
        approval_id: str | None,
        actor: str | None,
        place: Mapping[str, Any],
    ) -> Approval:
        """Ask. The same id again returns what was asked first, so a restart may ask again."""
        if not 0 < ttl <= MAX_SECONDS:
            raise BadPayload(f"an approval stays open for up to {MAX_SECONDS:,} seconds, not for {ttl}")
        name = str(new_id()) if approval_id is None else approval_id
        due = (datetime.now(UTC) + timedelta(seconds=ttl)).isoformat()
        asked = {"approval_id": name, "tool_name": tool_name, "tool_args": dict(tool_args), "expires_at": due}
        key = f"approval_requested:{name}"
        with contextlib.suppress(IdempotencyConflict):
            await self._append("approval_requested", {**asked, **place}, actor, key)
        return await self.one(name)

    async def decide(
        self, approval_id: str, decision: str, *, reason: str | None, actor: str | None
    ) -> Decision:
        """Decide, unless somebody or the clock was faster; return what stands."""
        if decision not in (APPROVED, DENIED):
            raise BadPayload(f"one can say {APPROVED!r} or {DENIED!r}, not {decision!r}")
        stands = await self.one(approval_id)
        if stands.open:
            stands = await self._settle(approval_id, decision, reason, actor)
        elif stands.decided_seq is None:
            stands = await self._settle(approval_id, EXPIRED, None, None)
        return Decision(stands, stands.says(decision, reason, actor))

    async def wait(self, approval_id: str) -> Approval:
        """Return the approval once it is decided or expired; ask again after a restart."""
        stands = await self.one(approval_id)
        while stands.open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_seconds_left(stands)):
                    await self._hear(stands)
            stands = await self.one(approval_id)
        if stands.decided_seq is None:
            stands = await self._settle(approval_id, EXPIRED, None, None)
        return stands

    async def one(self, approval_id: str) -> Approval:
        """Return how one approval stands."""
        found = await self._read(approval_id)
        if approval_id not in found:
            raise UnknownApproval(f"nobody asked for {approval_id!r} here; request_approval() returns the id")
        return found[approval_id]

    async def all(self) -> list[Approval]:
        """Return every approval that was asked for, in order."""
        return list((await self._read(None)).values())

    async def _settle(
        self, approval_id: str, decision: str, reason: str | None, actor: str | None
    ) -> Approval:
        said = {"approval_id": approval_id, "decision": decision, "reason": reason}
        with contextlib.suppress(IdempotencyConflict):
            await self._append("approval_completed", said, actor, None)
        return await self.one(approval_id)

    async def _append(self, kind: str, said: Mapping[str, Any], actor: str | None, key: str | None) -> Event:
        draft = self._ledger.draft(
            CONVERSATION, self.conversation_id, kind, said, actor=actor, idempotency_key=key
        )
        return await self._ledger.append(draft)

    async def _hear(self, approval: Approval) -> None:
        """Return when a decision on this approval is heard of."""
        following = self._ledger.follow(self.conversation_id, approval.requested_seq)
        async with contextlib.aclosing(cast(AsyncGenerator[Any, None], following)) as heard:
            async for event in heard:
                if event.kind == "approval_completed" and event.payload["approval_id"] == approval.id:
                    return

    async def _read(self, approval_id: str | None) -> dict[str, Approval]:
        rows = await self._ledger.ask("approvals", entity=self.conversation_id, approval=approval_id)
        events = [Event(self.conversation_id, *row[:-1]) for row in rows]
        return approvals(events, rows[0][-1]) if rows else {}


async def expire_approvals(database: Database, notifier: Notifier) -> int:
    """Write down what nobody decided in time; returns how much there was to look at."""
    due = await database.rows(sql.query("due_approvals"), most=EXPIRY_LIMIT)
    for entity, decision in due:
        with contextlib.suppress(IdempotencyConflict):  # decided at the last moment
            await database.row(sql.query("expire_approval"), entity=entity, event=decision)
        notifier.touch(entity)
    return len(due)


def _seconds_left(approval: Approval) -> float | None:
    """Return how long to wait at most, and never so short that waiting is polling."""
    if approval.expires_at is None:
        return None
    return max(0.05, (approval.expires_at - datetime.now(UTC)).total_seconds())
