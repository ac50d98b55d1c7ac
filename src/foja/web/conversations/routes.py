"""`/v1/conversations`: open, append, reserve, read, wait, follow."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from foja.errors import BadPayload, UnknownEntity
from foja.ledger.event import Event
from foja.ledger.stream import Stream
from foja.web.bodies import NewConversation, NewEvent, NextEvent, body_of, describe_body
from foja.web.caller import Caller, Reader, Writer
from foja.web.conversations.long_poll import RequestedPage, Start, poll
from foja.web.conversations.named import NamedConversation
from foja.web.conversations.stream import stream_events
from foja.web.reference.answers import (
    ConversationPage,
    EventAnswer,
    EventPage,
    OpenedConversation,
    StreamStateAnswer,
)
from foja.web.reference.openapi import EVENT_STREAM, REPLAYED

MAX_KEY_LENGTH = 255
routes = APIRouter(prefix="/v1/conversations", tags=["conversations"])
Key = Annotated[str | None, Header(alias="Idempotency-Key")]


@routes.post(
    "",
    status_code=201,
    response_model=OpenedConversation,
    responses={200: {"description": "The event was recorded before.", "model": OpenedConversation}},
    openapi_extra=describe_body(NewConversation),
)
async def create(
    caller: Writer, body: Annotated[NewConversation, body_of(NewConversation)], key: Key = None
) -> Response:
    """Open a conversation. It exists from its first event on, which the body may contain."""
    conversation = await caller.app.conversations.open(body.id)
    address = {"Location": f"/v1/conversations/{conversation.id}"}
    if body.event is None:
        return JSONResponse({"id": str(conversation.id), "event": None}, 201, address)
    event = await append_to(caller, conversation, body.event, key)
    return JSONResponse({"id": str(conversation.id), "event": event.envelope()}, status_of(event), address)


@routes.get("", response_model=ConversationPage)
async def conversations(
    caller: Reader, before: UUID | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """List conversations, newest first; `next` is the address of older ones."""
    found = await caller.app.conversations.list(before=before, limit=limit)
    more = f"/v1/conversations?before={found[-1]}&limit={limit}" if len(found) == limit else None
    return JSONResponse({"conversations": [{"id": str(each)} for each in found], "next": more})


@routes.get("/{conversation_id}", response_model=StreamStateAnswer)
async def conversation(caller: Reader, conversation: NamedConversation) -> Response:
    """Return how many events a conversation has, how many are sealed, and how many numbers were voided."""
    return JSONResponse(await state_of(conversation))


@routes.post(
    "/{conversation_id}/events",
    status_code=201,
    response_model=EventAnswer,
    responses=REPLAYED,
    openapi_extra=describe_body(NextEvent),
)
async def append(
    caller: Writer,
    body: Annotated[NextEvent, body_of(NextEvent)],
    conversation: NamedConversation,
    key: Key = None,
) -> Response:
    """Append an event. The same Idempotency-Key again returns the first event, with 200."""
    event = await append_to(caller, conversation, body, key)
    return JSONResponse(event.envelope(), status_of(event))


@routes.get("/{conversation_id}/events", response_model=EventPage)
async def events(caller: Reader, conversation: NamedConversation, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/conversations/{conversation.id}/events"
    return JSONResponse(await poll(caller, conversation.id, page, address))


@routes.get("/{conversation_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def stream(caller: Reader, conversation: NamedConversation, start: Start) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), after Last-Event-ID."""
    return stream_events(caller, conversation.id, start)


async def state_of(stream: Stream) -> dict[str, Any]:
    """Return how many events, sealed events and gaps a stream has; raise if it has no events."""
    state = await stream.state()
    if not state.next_seq:
        raise UnknownEntity(f"{stream.id} has no events; check the id, or append its first event")
    counts = {"next_seq": state.next_seq, "sealed": state.sealed, "gaps": await stream.gaps()}
    return {"id": str(stream.id), **counts}


async def append_to(caller: Caller, stream: Stream, new: NewEvent, key: str | None) -> Event:
    """Append an event to a stream, under the key of its request."""
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise BadPayload(f"not a valid Idempotency-Key: expected 1 to {MAX_KEY_LENGTH} characters")
    return await stream.append(**caller.signed(new), idempotency_key=key)


def status_of(event: Event) -> int:
    """Return 201 for a new event, 200 for a replayed one."""
    return 200 if event.replayed else 201
