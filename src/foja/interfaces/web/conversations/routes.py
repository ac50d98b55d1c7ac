"""Read and follow the events of a conversation; `operations.records.conversations` has all other acts."""

from __future__ import annotations

from fastapi import Response

from foja.interfaces.web.caller import Reader
from foja.interfaces.web.conversations.address import ReadConversation
from foja.interfaces.web.conversations.long_poll import RequestedPage, Start, poll
from foja.interfaces.web.conversations.stream import stream_events
from foja.interfaces.web.reference.answers.events import EventPage
from foja.interfaces.web.reference.openapi import EVENT_STREAM
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/conversations", "conversations")


@routes.get("/{conversation_id}/events", response_model=EventPage)
async def events(caller: Reader, conversation: ReadConversation, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/conversations/{conversation.id}/events"
    return JsonAnswer(await poll(caller, conversation.id, page, address))


@routes.get("/{conversation_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def stream(caller: Reader, conversation: ReadConversation, start: Start) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), after Last-Event-ID."""
    return stream_events(caller, conversation.id, start)
