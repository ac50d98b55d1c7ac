"""Streams that callers append to, over HTTP: conversations, and those of a domain of yours."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias
from uuid import UUID

from foja.client.acts import StreamActs, StreamsActs
from foja.client.documents import Document, document_of
from foja.client.history import History
from foja.client.problems import rebuild
from foja.client.transport import Transport, new_key
from foja.engine.ledger.event import Event, parse_id
from foja.errors import FojaError
from foja.interfaces.answers.streams import BatchEvent

Drafts: TypeAlias = Sequence[BatchEvent | Mapping[str, Any]]


class Appending(History):
    """A stream that callers append to. The class beside it in a stream's bases has its acts."""

    def draft(self, kind: str, payload: Mapping[str, Any], **more: Any) -> BatchEvent:
        """Return an event that is not appended. It has a key, so that it can be sent twice."""
        return BatchEvent(kind, dict(payload), **{"idempotency_key": new_key(), **more})

    async def append_many(
        self, drafts: Drafts, *, atomic: bool = True, idempotency_key: str | None = None
    ) -> list[Event | FojaError]:
        """Append drafts, or `{kind, payload, …}`: all or none, or each by itself with its event or error."""
        sent = [each if isinstance(each, BatchEvent) else BatchEvent(**each) for each in drafts]
        acts: Any = super()
        answer = await acts.append_many(sent, atomic=atomic, idempotency_key=idempotency_key)
        found: list[Event | FojaError] = []
        for each in answer.results:
            found += [each.event] if each.event else []
            found += [rebuild(asdict(each.problem))] if each.problem else []
        return found

    async def append_each(self, drafts: Drafts) -> list[Event | FojaError]:
        """Append each draft by itself; return its event or its error for each."""
        return await self.append_many(drafts, atomic=False)

    async def gaps(self) -> int:
        """Return how many numbers of the stream were given and voided."""
        acts: Any = super()
        return int((await acts.state()).gaps)

    async def protect(
        self, required_evidence: str | Sequence[str] = ("tsa",), *, idempotency_key: str | None = None
    ) -> Document:
        """Add the sealed events as a document, request evidence of it and return it."""
        acts: Any = super()
        return document_of(
            self._transport, await acts.protect(required_evidence, idempotency_key=idempotency_key)
        )


class Stream(Appending, StreamActs):  # type: ignore[misc]
    """One stream of a domain of yours. It exists from its first event on."""

    def __init__(self, transport: Transport, stream_id: UUID, domain: str) -> None:
        Appending.__init__(self, transport, stream_id, f"/v1/streams/{domain}/{stream_id}")
        StreamActs.__init__(self, transport, {"domain": domain, "stream_id": stream_id})


class Streams:
    """The streams of one domain of yours."""

    def __init__(self, transport: Transport, domain: str) -> None:
        self._transport, self._domain = transport, domain

    async def open(self, entity_id: UUID | str | None = None) -> Stream:
        """Return a new stream, or the one with this id. Nothing is sent before it is used."""
        return Stream(self._transport, parse_id(entity_id, self._domain), self._domain)

    async def list(self, *, before: UUID | None = None, limit: int = 100) -> builtins.list[UUID]:
        """Return the ids of streams, newest first; `before` is the last id of the page before."""
        found = await StreamsActs(self._transport).list(self._domain, before=before, limit=limit)
        return [each.id for each in found]
