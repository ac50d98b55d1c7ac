"""Conversations over HTTP: messages, slots, transients, approvals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from foja.client.documents import Document, Documents
from foja.client.events import event_from, time_from
from foja.client.streams import Stream
from foja.client.transport import Transport
from foja.conversations.model.approvals import Approval, Decision
from foja.core.fields import many
from foja.ledger.event import Event, new_id, parse_id


class Slots:
    """Reserved numbers, to be filled by ordinal in any order before the deadline."""

    def __init__(
        self, transport: Transport, path: str, token: UUID, seqs: Sequence[int], deadline: datetime | None
    ) -> None:
        self._transport, self._path = transport, f"{path}/slots/{token}"
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
        body = {"kind": kind, "payload": dict(payload), "actor": actor, "v": v}
        path = f"{self._path}/{self.seq(ordinal)}"
        document, new = await self._transport.append(path, body, idempotency_key)
        return event_from(document, replayed=not new)

    async def void(self, ordinal: int, *, reason: str) -> None:
        """Void a slot; the conversation records the reason."""
        await self._transport.ask("POST", f"{self._path}/{self.seq(ordinal)}/void", json={"reason": reason})

    async def extend(self, ttl: float) -> datetime:
        """Extend the deadline of the slots that are still open, and return it."""
        found = await self._transport.ask("POST", f"{self._path}/extend", json={"ttl": ttl})
        self.deadline = datetime.fromisoformat(found["deadline"])
        return self.deadline


class Conversation(Stream):
    """A conversation of the server."""

    def __init__(self, transport: Transport, stream_id: UUID, path: str, documents: Documents) -> None:
        super().__init__(transport, stream_id, path)
        self._documents = documents

    async def protect(self, required_evidence: str | Iterable[str] = ("tsa",)) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        body = {"required_evidence": many(required_evidence)}
        return self._documents.added(await self._transport.ask("POST", f"{self._path}/protect", json=body))

    async def reserve(self, count: int, *, ttl: float = 30, intents: Sequence[Any] | None = None) -> Slots:
        """Reserve the next `count` numbers. A lost answer is not asked for again: it would take others."""
        body = {"count": count, "ttl": ttl, "intents": None if intents is None else list(intents)}
        found = await self._transport.ask("POST", f"{self._path}/slots", json=body, safe=False)
        deadline = datetime.fromisoformat(found["deadline"])
        return Slots(self._transport, self._path, UUID(found["token"]), found["seqs"], deadline)

    def slots(self, token: UUID, seqs: Sequence[int]) -> Slots:
        """Return a reservation that another process made, from its token and its numbers."""
        return Slots(self._transport, self._path, token, seqs, None)

    async def emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        turn: str | int | None = None,
        block_index: int | None = None,
        event_index: int | None = None,
    ) -> None:
        """Send a transient to the current followers. It is not numbered and not stored."""
        place = {"turn": turn, "block_index": block_index, "event_index": event_index}
        body = {"kind": kind, "payload": dict(payload), **place}
        await self._transport.ask("POST", f"{self._path}/transients", json=body, safe=False)

    async def erase(self, seq: int, *, reason: str) -> None:
        """Erase the body of one event. Its hash and every proof of it stay valid."""
        await self._transport.ask("POST", f"{self._path}/events/{seq}/erase", json={"reason": reason})

    async def request_approval(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any],
        *,
        ttl: float = 300,
        approval_id: str | None = None,
        tool_use_id: str | None = None,
        policy: str | None = None,
        actor: str | None = None,
    ) -> Approval:
        """Request an approval within `ttl` seconds. The same id returns the first request."""
        named = str(new_id()) if approval_id is None else approval_id
        body = {"tool_name": tool_name, "tool_args": dict(tool_args), "ttl": ttl, "approval_id": named}
        more = {"tool_use_id": tool_use_id, "policy": policy, "actor": actor}
        return _approval(await self._transport.ask("POST", f"{self._path}/approvals", json=body | more))

    async def decide(
        self, approval_id: str, decision: str, *, reason: str | None = None, actor: str | None = None
    ) -> Decision:
        """Decide `approved` or `denied`. Return the decision that counts: the first one, or the expiry."""
        body = {"decision": decision, "reason": reason, "actor": actor}
        found = await self._transport.ask("POST", self._approval_path(approval_id), json=body)
        return Decision(_approval(found), found["mine"])

    async def approval(self, approval_id: str) -> Approval:
        """Return an approval with its state."""
        return _approval(await self._transport.ask("GET", self._approval_path(approval_id)))

    async def approvals(self) -> list[Approval]:
        """Return every approval that was requested, in order."""
        found = await self._transport.ask("GET", f"{self._path}/approvals")
        return [_approval(each) for each in found["approvals"]]

    def _approval_path(self, approval_id: str) -> str:
        return f"{self._path}/approvals/{quote(approval_id, safe='')}"


class Conversations:
    """Every conversation of the tenant."""

    def __init__(self, transport: Transport, documents: Documents) -> None:
        self._transport, self._documents = transport, documents

    async def open(self, conversation_id: UUID | str | None = None) -> Conversation:
        """Return a new conversation, or the one with this id. Nothing is sent before it is used."""
        found = parse_id(conversation_id, "conversation")
        return Conversation(self._transport, found, f"/v1/conversations/{found}", self._documents)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> list[UUID]:
        """Return the ids of conversations, newest first; `before` is the last id of the page before."""
        wanted = {"before": None if before is None else str(before), "limit": limit}
        found = await self._transport.ask("GET", "/v1/conversations", params=wanted)
        return [UUID(each["id"]) for each in found["conversations"]]

    async def protect(
        self, conversation_id: UUID | str, required_evidence: str | Iterable[str] = ("tsa",)
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        return await (await self.open(conversation_id)).protect(required_evidence)


def _approval(document: Mapping[str, Any]) -> Approval:
    fields = {name: document[name] for name in Approval.__slots__}
    return replace(Approval(**fields), expires_at=time_from(document["expires_at"]))
