"""Read and follow the events of a conversation, a document, or a stream of any domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field
from starlette.responses import Response

from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records import conversations, documents, streams
from foja.interfaces.operations.records.streams import Opened
from foja.interfaces.web.caller import http_caller
from foja.interfaces.web.conversations.long_poll import After, PageRequest, parse_after, poll
from foja.interfaces.web.conversations.stream import stream_events
from foja.interfaces.web.operation import EVENT_STREAM, HttpOperation
from foja.interfaces.web.reference.answers.events import EventPage
from foja.pure.models.access.principal import Scope

LAST = {
    "name": "last-event-id",
    "in": "header",
    "required": False,
    "description": "the same as `after`, as browsers send it",
    "schema": {"type": "string"},
}
FOUND: dict[str, tuple[str, Callable[..., Any]]] = {
    "conversation": ("/v1/conversations/{conversation_id}", conversations.known),
    "stream": ("/v1/streams/{domain}/{stream_id}", streams.own_stream),
    "document": ("/v1/documents/{document_id}", documents.known),
}


async def events(
    opened: Opened[Any],
    *,
    after: After = None,
    holes: Annotated[str, "the open numbers, as in `next`"] = "",
    limit: Annotated[int, Field(ge=1, le=1000)] = 1000,
    wait: Annotated[float, Field(ge=0, le=60), "seconds to wait for new events"] = 0,
) -> dict[str, Any]:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    page = PageRequest(parse_after(after), holes, limit, wait)
    return await poll(http_caller(opened.caller), opened.stream.id, page)


async def follow(opened: Opened[Any], *, after: After = None) -> Response:
    """Follow as server-sent events (`event`, `transient`, `reset`), after Last-Event-ID."""
    caller = http_caller(opened.caller)
    start = caller.http.headers.get("last-event-id") or after
    return stream_events(caller, opened.stream.id, parse_after(start))


OPERATIONS: tuple[Operation, ...] = tuple(
    operation
    for name, (address, find) in FOUND.items()
    for operation in (
        HttpOperation(
            *(f"{name}.events", f"GET {address}/events", events, Scope.READ, find), answer=EventPage
        ),
        HttpOperation(
            *(f"{name}.follow", f"GET {address}/stream", follow, Scope.READ, find),
            answers=EVENT_STREAM,
            headers=[LAST],
        ),
    )
)
