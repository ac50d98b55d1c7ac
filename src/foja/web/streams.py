"""`/v1/streams/{domain}/{id}`: streams of any registered domain, by the registry in the database."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from foja.core.registry import RESERVED_DOMAINS
from foja.errors import Refused
from foja.web.bodies import NextEvent, body_of, describe_body
from foja.web.caller import Reader, Writer
from foja.web.conversations.long_poll import RequestedPage, Start, poll
from foja.web.conversations.named import NamedStream, open_stream
from foja.web.conversations.routes import Key, append_to, state_of, status_of
from foja.web.conversations.stream import stream_events
from foja.web.reference.answers import DomainList, DomainStreamState, EventAnswer, EventPage
from foja.web.reference.openapi import EVENT_STREAM, REPLAYED

routes = APIRouter(prefix="/v1/streams", tags=["streams"])


@routes.get("", response_model=DomainList)
async def domains(caller: Reader) -> Response:
    """List the registered domains with their kinds."""
    found = await caller.app.registry.domains()
    return JSONResponse({"domains": [domain.definition() for domain in found]})


@routes.get("/{domain}/{stream_id}", response_model=DomainStreamState)
async def state(caller: Reader, stream: NamedStream) -> Response:
    """Return how many events a stream has, and how many are sealed."""
    return JSONResponse({**await state_of(stream), "domain": stream.domain.name})


@routes.post(
    "/{domain}/{stream_id}/events",
    status_code=201,
    response_model=EventAnswer,
    responses=REPLAYED,
    openapi_extra=describe_body(NextEvent),
)
async def append(
    caller: Writer,
    domain: str,
    stream_id: str,
    body: Annotated[NextEvent, body_of(NextEvent)],
    key: Key = None,
) -> Response:
    """Append an event of a domain of yours. The same Idempotency-Key again returns the first event."""
    if domain in RESERVED_DOMAINS:
        raise Refused(f"events of a {domain} are not appended here; use the routes of its own")
    found = await caller.app.registry.find(domain, (body.kind, body.v))
    event = await append_to(caller, await open_stream(caller.app, found, stream_id), body, key)
    return JSONResponse(event.envelope(), status_of(event))


@routes.get("/{domain}/{stream_id}/events", response_model=EventPage)
async def events(caller: Reader, stream: NamedStream, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/streams/{stream.domain.name}/{stream.id}/events"
    return JSONResponse(await poll(caller, stream.id, page, address))


@routes.get("/{domain}/{stream_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, stream: NamedStream, start: Start) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    return stream_events(caller, stream.id, start)
