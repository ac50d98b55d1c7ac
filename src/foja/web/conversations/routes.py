"""`/v1/conversations`: open, append, reserve, read, wait, follow."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from foja.web.bodies import NewConversation, NextEvent, body_of, describe_body
from foja.web.caller import Reader, Writer
from foja.web.conversations.address import ReadConversation, WrittenConversation
from foja.web.conversations.long_poll import RequestedPage, Start, poll
from foja.web.conversations.stream import stream_events
from foja.web.reference.answers.conversations import ConversationPage, OpenedConversation
from foja.web.reference.answers.events import EventPage, StreamStateAnswer
from foja.web.reference.openapi import EVENT_STREAM, event_route
from foja.web.routers import api_router
from foja.web.streams.appends import Key, append_to, event_answer, keyed, state_of, status_of
from foja.web.streams.batches import BATCH_ROUTE, EventBatch, append_batch
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/conversations", "conversations")


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
    request = keyed(caller, key, "/v1/conversations")
    conversation = await caller.app.conversations.open(body.id or request.new_id("conversation"))
    asked = {**body.model_dump(mode="json"), "id": str(conversation.id)}
    again = await request.found(asked) is not None
    event = await append_to(conversation, body.event, key, caller) if body.event else None
    if not again:
        again = await request.note(asked) is not None
    answer = {"id": str(conversation.id), "event": event.envelope() if event else None}
    status = status_of(event) if event else 200 if again else 201
    return JsonAnswer(answer, status, {"Location": f"/v1/conversations/{conversation.id}"})


@routes.get("", response_model=ConversationPage)
async def conversations(
    caller: Reader, before: UUID | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """List conversations, newest first; `next` is the address of older ones."""
    found = await caller.app.conversations.list(before=before, limit=limit)
    more = f"/v1/conversations?before={found[-1]}&limit={limit}" if len(found) == limit else None
    return JsonAnswer({"conversations": [{"id": str(each)} for each in found], "next": more})


@routes.get("/{conversation_id}", response_model=StreamStateAnswer)
async def conversation(conversation: ReadConversation) -> Response:
    """Return how many events a conversation has, how many are sealed, and how many numbers were voided."""
    return JsonAnswer(await state_of(conversation))


@routes.post("/{conversation_id}/events", **event_route(NextEvent))
async def append(
    caller: Writer,
    body: Annotated[NextEvent, body_of(NextEvent)],
    conversation: WrittenConversation,
    key: Key = None,
) -> Response:
    """Append an event. The same Idempotency-Key again returns the first event, with 200."""
    event = await append_to(conversation, body, key, caller)
    return event_answer(event)


@routes.post("/{conversation_id}/events/batch", **BATCH_ROUTE)
async def append_many(
    caller: Writer,
    body: Annotated[EventBatch, body_of(EventBatch)],
    conversation: WrittenConversation,
    key: Key = None,
) -> Response:
    """Append many events, all or none, or each by itself; see the result of each."""
    return await append_batch(conversation, body, key, caller)


@routes.get("/{conversation_id}/events", response_model=EventPage)
async def events(caller: Reader, conversation: ReadConversation, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/conversations/{conversation.id}/events"
    return JsonAnswer(await poll(caller, conversation.id, page, address))


@routes.get("/{conversation_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def stream(caller: Reader, conversation: ReadConversation, start: Start) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), after Last-Event-ID."""
    return stream_events(caller, conversation.id, start)
