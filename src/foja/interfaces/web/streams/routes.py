"""Read and follow the events of a stream of any domain; `operations.records.streams` has the other acts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from foja.domains.streams import OwnStream
from foja.interfaces.web.caller import Reader
from foja.interfaces.web.conversations.long_poll import RequestedPage, Start, poll
from foja.interfaces.web.conversations.stream import stream_events
from foja.interfaces.web.reference.answers.events import EventPage
from foja.interfaces.web.reference.openapi import EVENT_STREAM
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/streams", "streams")
ONE = "/{domain}/{stream_id}"


async def read_by(caller: Reader, domain: str, stream_id: str) -> OwnStream:
    """Return the stream that the address of a request names, for a caller who may read."""
    stream = await caller.app.streams(await caller.app.registry.find(domain)).open(stream_id)
    await stream.check_domain()
    return stream


ReadStream = Annotated[OwnStream, Depends(read_by)]


@routes.get(f"{ONE}/events", response_model=EventPage)
async def events(caller: Reader, stream: ReadStream, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/streams/{stream.domain.name}/{stream.id}/events"
    return JsonAnswer(await poll(caller, stream.id, page, address))


@routes.get(f"{ONE}/stream", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, stream: ReadStream, start: Start) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    return stream_events(caller, stream.id, start)
