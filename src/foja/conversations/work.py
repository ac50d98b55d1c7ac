"""Conversations for programs: open one, append, reserve, read, follow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from foja.conversations.events import CONVERSATION
from foja.errors import UnknownEntity
from foja.ledger.append import Verdict
from foja.ledger.event import Draft, Event, Reset, new_id
from foja.ledger.ledger import Ledger
from foja.ledger.slots import Slots


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation. It exists from its first event on."""

    id: UUID
    _ledger: Ledger

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
        """Write one event and return it with its number."""
        return await self._ledger.append(
            self.draft(
                kind, payload, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor, v=v
            )
        )

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these drafts or none."""
        return await self._ledger.append_many(drafts)

    async def append_each(self, drafts: Sequence[Draft]) -> list[Verdict]:
        """Write what can be written; each draft gets its event or its error."""
        return await self._ledger.append_each(drafts)

    def draft(self, kind: str, payload: Mapping[str, Any], **more: Any) -> Draft:
        """Return an event of this conversation, checked but not written."""
        return self._ledger.draft(CONVERSATION, self.id, kind, payload, **more)

    async def reserve(self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None) -> Slots:
        """Take the next `count` numbers, to be filled in any order within `ttl` seconds."""
        return await self._ledger.reserve(CONVERSATION, self.id, count, ttl, intents)

    async def events(self, *, after: str | int | None = None, limit: int = 1000) -> list[Event]:
        """Return up to `limit` events after a cursor or number, open slots as `slot.open`."""
        return await self._ledger.events(self.id, after, limit)

    def follow(self, *, after: str | int | None = None) -> AsyncIterator[Event | Reset]:
        """Yield what is there and then what comes, for ever."""
        return self._ledger.follow(self.id, after)

    async def erase(self, seq: int, *, reason: str, actor: str | None = None) -> None:
        """Forget what one event said; that it was said stays proven."""
        await self._ledger.erase(self.id, seq, reason=reason, actor=actor)


class Conversations:
    """Every conversation of this tenant."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def open(self, conversation_id: UUID | str | None = None) -> Conversation:
        """Return a new conversation, or the one with this id."""
        if conversation_id is None:
            return Conversation(new_id(), self._ledger)
        try:
            return Conversation(UUID(str(conversation_id)), self._ledger)
        except ValueError:
            raise UnknownEntity(f"{conversation_id!r} is no id of a conversation; they are UUIDs") from None
