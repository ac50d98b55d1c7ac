"""Read and follow the events of a document; `operations.records.documents` has most other acts."""

from __future__ import annotations

from fastapi import Response

from foja.interfaces.web.caller import Reader
from foja.interfaces.web.conversations.long_poll import RequestedPage, Start, poll
from foja.interfaces.web.conversations.stream import stream_events
from foja.interfaces.web.documents.address import ReadDocument
from foja.interfaces.web.reference.answers.events import EventPage
from foja.interfaces.web.reference.openapi import EVENT_STREAM
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/documents", "documents")


@routes.get("/{document_id}/events", response_model=EventPage)
async def events(caller: Reader, document: ReadDocument, page: RequestedPage) -> Response:
    """Read a page of events; with `wait`, wait for new ones (long polling)."""
    return JsonAnswer(await poll(caller, document, page, f"/v1/documents/{document}/events"))


@routes.get("/{document_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, document: ReadDocument, start: Start) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    return stream_events(caller, document, start)
