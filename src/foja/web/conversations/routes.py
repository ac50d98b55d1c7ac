"""`/v1/conversations`: open, append, reserve, read, wait, follow."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Response

from foja.errors import BadPayload, UnknownEntity
from foja.ledger.event import Event
from foja.ledger.reader import NUMBER
from foja.web.bodies import NewConversation, NewEvent, NextEvent, body_of, described
from foja.web.context import WebContext, context_of
from foja.web.conversations.long_poll import Wanted, poll
from foja.web.conversations.stream import EventStream, Follow

LONGEST_KEY = 255
routes = APIRouter(prefix="/v1/conversations", tags=["conversations"])
Context = Annotated[WebContext, Depends(context_of)]
Key = Annotated[str | None, Header(alias="Idempotency-Key")]
After = Annotated[str | None, Query(description="an event's cursor, or a number")]


@routes.post("", status_code=201, openapi_extra=described(NewConversation))
async def create(
    ctx: Context, body: Annotated[NewConversation, body_of(NewConversation)], key: Key = None
) -> Response:
    """Open a conversation. It exists from its first event on, which may come along."""
    talk = await ctx.app.conversations.open(body.id)
    address = {"Location": f"/v1/conversations/{talk.id}"}
    if body.event is None:
        return document({"id": str(talk.id), "event": None}, 201, address)
    event = await _append(ctx, str(talk.id), body.event, key)
    return document({"id": str(talk.id), "event": event.envelope()}, created(event), address)


@routes.get("")
async def conversations(
    ctx: Context, before: UUID | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """List conversations, newest first; `next` leads to older ones."""
    found = await ctx.app.conversations.list(before=before, limit=limit)
    more = f"/v1/conversations?before={found[-1]}&limit={limit}" if len(found) == limit else None
    return document({"conversations": [{"id": str(each)} for each in found], "next": more})


@routes.get("/{conversation_id}")
async def conversation(ctx: Context, conversation_id: str) -> Response:
    """Say how long a conversation is."""
    talk = await ctx.conversation(conversation_id)
    state = await talk.state()
    if not state.next_seq:
        raise UnknownEntity(f"nothing was ever written to {talk.id}; check the id, or append its first event")
    return document({"id": str(talk.id), "next_seq": state.next_seq, "sealed": state.sealed})


@routes.post("/{conversation_id}/events", status_code=201, openapi_extra=described(NextEvent))
async def append(
    ctx: Context, conversation_id: str, body: Annotated[NextEvent, body_of(NextEvent)], key: Key = None
) -> Response:
    """Append an event. The same Idempotency-Key again returns the first, with 200."""
    event = await _append(ctx, conversation_id, body, key, expected_seq=body.expected_seq)
    return document(event.envelope(), created(event))


@routes.get("/{conversation_id}/events")
async def events(
    ctx: Context,
    conversation_id: str,
    after: After = None,
    holes: Annotated[str, Query(description="numbers known to be open, as `next` gives them")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    wait: Annotated[float, Query(ge=0, le=60, description="seconds to wait for news")] = 0,
) -> Response:
    """Read a page of events and open slots; with `wait`, wait for one (long-poll)."""
    talk = await ctx.conversation(conversation_id)
    return document(await poll(ctx, Wanted(talk.id, cursor(after), holes, limit, wait)))


@routes.get("/{conversation_id}/stream")
async def stream(
    ctx: Context,
    conversation_id: str,
    after: After = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), from Last-Event-ID on."""
    talk = await ctx.conversation(conversation_id)
    follow = Follow(ctx.app.ledger, talk.id, cursor(last_event_id or after), ctx.beat)
    return EventStream(follow.pieces(ctx.feeds), ctx)


async def _append(
    ctx: WebContext, conversation_id: str, said: NewEvent, key: str | None, *, expected_seq: int | None = None
) -> Event:
    talk = await ctx.conversation(conversation_id)
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise BadPayload(f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return await talk.append(
        said.kind,
        said.payload,
        idempotency_key=key,
        expected_seq=expected_seq,
        actor=said.actor,
        v=said.v,
    )


def created(event: Event) -> int:
    """Return 201 for an event just written, 200 for one that was there."""
    return 200 if event.replayed else 201


def cursor(word: str | None) -> str | int | None:
    """Return a cursor as the ledger takes it: text, or a plain number."""
    return int(word) if word and NUMBER.fullmatch(word) else word or None


def document(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers, "application/json")
