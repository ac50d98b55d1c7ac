"""`/v1/conversations`: open, append, reserve, read, wait, follow."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Response

from foja.errors import BadPayload, UnknownEntity
from foja.ledger.event import Event
from foja.ledger.reader import NUMBER
from foja.ledger.stream import Stream
from foja.web.bodies import NewConversation, NewEvent, NextEvent, body_of, describe_body
from foja.web.context import WebContext, context_of
from foja.web.conversations.long_poll import PageRequest, poll
from foja.web.conversations.stream import ClientStream, EventStream

MAX_KEY_LENGTH = 255
routes = APIRouter(prefix="/v1/conversations", tags=["conversations"])
Context = Annotated[WebContext, Depends(context_of)]
Key = Annotated[str | None, Header(alias="Idempotency-Key")]
After = Annotated[str | None, Query(description="the cursor or the number of an event")]


@routes.post("", status_code=201, openapi_extra=describe_body(NewConversation))
async def create(
    ctx: Context, body: Annotated[NewConversation, body_of(NewConversation)], key: Key = None
) -> Response:
    """Open a conversation. It exists from its first event on, which the body may contain."""
    conversation = await ctx.app.conversations.open(body.id)
    address = {"Location": f"/v1/conversations/{conversation.id}"}
    if body.event is None:
        return json_response({"id": str(conversation.id), "event": None}, 201, address)
    event = await append_to(conversation, body.event, key)
    return json_response({"id": str(conversation.id), "event": event.envelope()}, status_of(event), address)


@routes.get("")
async def conversations(
    ctx: Context, before: UUID | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """List conversations, newest first; `next` is the address of older ones."""
    found = await ctx.app.conversations.list(before=before, limit=limit)
    more = f"/v1/conversations?before={found[-1]}&limit={limit}" if len(found) == limit else None
    return json_response({"conversations": [{"id": str(each)} for each in found], "next": more})


@routes.get("/{conversation_id}")
async def conversation(ctx: Context, conversation_id: str) -> Response:
    """Return how many events a conversation has, and how many are sealed."""
    conversation = await ctx.conversation(conversation_id)
    state = await conversation.state()
    if not state.next_seq:
        raise UnknownEntity(f"{conversation.id} has no events; check the id, or append its first event")
    return json_response({"id": str(conversation.id), "next_seq": state.next_seq, "sealed": state.sealed})


@routes.post("/{conversation_id}/events", status_code=201, openapi_extra=describe_body(NextEvent))
async def append(
    ctx: Context, conversation_id: str, body: Annotated[NextEvent, body_of(NextEvent)], key: Key = None
) -> Response:
    """Append an event. The same Idempotency-Key again returns the first event, with 200."""
    conversation = await ctx.conversation(conversation_id)
    event = await append_to(conversation, body, key, expected_seq=body.expected_seq)
    return json_response(event.envelope(), status_of(event))


@routes.get("/{conversation_id}/events")
async def events(
    ctx: Context,
    conversation_id: str,
    after: After = None,
    holes: Annotated[str, Query(description="the open numbers, as in `next`")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    wait: Annotated[float, Query(ge=0, le=60, description="seconds to wait for new events")] = 0,
) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    conversation = await ctx.conversation(conversation_id)
    request = PageRequest(conversation.id, parse_after(after), holes, limit, wait)
    return json_response(await poll(ctx, request))


@routes.get("/{conversation_id}/stream")
async def stream(
    ctx: Context,
    conversation_id: str,
    after: After = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), after Last-Event-ID."""
    conversation = await ctx.conversation(conversation_id)
    client = ClientStream(ctx.app.ledger, conversation.id, parse_after(last_event_id or after), ctx.heartbeat)
    return EventStream(client.pieces(ctx.feeds), ctx)


async def append_to(
    stream: Stream, new: NewEvent, key: str | None, *, expected_seq: int | None = None
) -> Event:
    """Append an event to a stream, under the key of its request."""
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise BadPayload(f"not a valid Idempotency-Key: expected 1 to {MAX_KEY_LENGTH} characters")
    return await stream.append(
        new.kind,
        new.payload,
        idempotency_key=key,
        expected_seq=expected_seq,
        actor=new.actor,
        v=new.v,
    )


def status_of(event: Event) -> int:
    """Return 201 for a new event, 200 for a replayed one."""
    return 200 if event.replayed else 201


def parse_after(text: str | None) -> str | int | None:
    """Return a cursor as text, or a sequence number as an integer."""
    return int(text) if text and NUMBER.fullmatch(text) else text or None


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with a JSON body."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body, status, headers, "application/json")
