"""Conversations over HTTP: messages, slots, transients, approvals."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any
from uuid import UUID

from foja.client.acts import ConversationActs, ConversationsActs
from foja.client.documents import Document
from foja.client.streams import Appending
from foja.client.transport import Transport
from foja.engine.ledger.event import Event, parse_id
from foja.interfaces.answers.streams import Reservation
from foja.pure.models.conversations.approvals import Approval
from foja.pure.models.conversations.events import DECISION


class Slots:
    """Reserved numbers, to be filled by ordinal in any order before the deadline."""

    def __init__(
        self, conversation: ConversationActs, token: UUID, seqs: Sequence[int], deadline: datetime | None
    ) -> None:
        self._conversation = conversation
        self.token, self.seqs, self.deadline = token, tuple(seqs), deadline

    def seq(self, ordinal: int) -> int:
        """Return the number of a slot."""
        return self.seqs[ordinal]

    async def fill(
        self,
        ordinal: int,
        kind: str,
        payload: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        actor: str | None = None,
        v: int = 1,
    ) -> Event:
        """Fill a slot with its event; the same event again returns the first."""
        place = str(self.token), str(self.seq(ordinal))
        return await self._conversation.fill(
            *place, kind, payload, idempotency_key=idempotency_key, actor=actor, v=v
        )

    async def void(self, ordinal: int, *, reason: str) -> None:
        """Void a slot; the conversation records the reason."""
        await self._conversation.void(str(self.token), str(self.seq(ordinal)), reason=reason)

    async def extend(self, ttl: float) -> datetime:
        """Extend the deadline of the slots that are still open, and return it."""
        self.deadline = (await self._conversation.extend(str(self.token), ttl=ttl)).deadline
        return self.deadline


class Conversation(Appending, ConversationActs):  # type: ignore[misc]
    """A conversation of the server."""

    def __init__(self, transport: Transport, conversation_id: UUID) -> None:
        Appending.__init__(self, transport, conversation_id, f"/v1/conversations/{conversation_id}")
        ConversationActs.__init__(self, transport, {"conversation_id": conversation_id})

    async def reserve(  # type: ignore[override]
        self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None
    ) -> Slots:
        """Reserve the next `count` numbers."""
        found: Reservation = await super().reserve(count, ttl=ttl, intents=intents)
        return Slots(self, found.token, found.seqs, found.deadline)

    def slots(self, token: UUID, seqs: Sequence[int]) -> Slots:
        """Return a reservation that another process made, from its token and its numbers."""
        return Slots(self, token, seqs, None)

    async def wait_for_approval(self, approval_id: str) -> Approval:
        """Wait until an approval is decided or expired and return it. After a restart, wait again."""
        approval = await self.approval(approval_id)
        if approval.open:
            async with aclosing(self.follow(after=approval.requested_seq)) as items:
                async for item in items:
                    if isinstance(item, Event) and _decides(item, approval_id):
                        break
        return await self.approval(approval_id)


class Conversations(ConversationsActs):
    """Every conversation of the tenant."""

    async def open(self, conversation_id: UUID | str | None = None) -> Conversation:
        """Return a new conversation, or the one with this id. Nothing is sent before it is used."""
        return Conversation(self._transport, parse_id(conversation_id, "conversation"))

    async def list(  # type: ignore[override]
        self, *, before: UUID | None = None, limit: int = 100
    ) -> builtins.list[UUID]:
        """Return the ids of conversations, newest first; `before` is the last id of the page before."""
        return [each.id for each in await super().list(before=before, limit=limit)]

    async def protect(
        self, conversation_id: UUID | str, required_evidence: str | Sequence[str] = ("tsa",)
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        return await (await self.open(conversation_id)).protect(required_evidence)


def _decides(event: Event, approval_id: str) -> bool:
    return event.kind == DECISION and event.payload["approval_id"] == approval_id
