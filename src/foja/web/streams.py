"""`/v1/streams/{domain}/{id}`: streams of any registered domain, by the registry in the database."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from foja.core.registry import RESERVED_DOMAINS
from foja.errors import Refused, UnknownEntity
from foja.ledger.stream import Stream
from foja.web.bodies import NextEvent, body_of, describe_body
from foja.web.context import WebContext
from foja.web.conversations.long_poll import PageRequest, poll
from foja.web.conversations.routes import (
    After,
    Context,
    Key,
    append_to,
    json_response,
    parse_after,
    status_of,
)
from foja.web.conversations.stream import ClientStream, EventStream

routes = APIRouter(prefix="/v1/streams", tags=["streams"])


@routes.get("")
async def domains(ctx: Context) -> Response:
    """List the registered domains with their kinds."""
    found = await ctx.app.registry.domains()
    return json_response({"domains": [domain.definition() for domain in found]})


@routes.get("/{domain}/{stream_id}")
async def state(ctx: Context, domain: str, stream_id: str) -> Response:
    """Return how many events a stream has, and how many are sealed."""
    stream = await _stream(ctx, domain, stream_id)
    found = await stream.state()
    if not found.next_seq:
        raise UnknownEntity(f"{stream.id} has no events; check the id, or append its first event")
    return json_response(
        {"id": str(stream.id), "domain": domain, "next_seq": found.next_seq, "sealed": found.sealed}
    )


@routes.post("/{domain}/{stream_id}/events", status_code=201, openapi_extra=describe_body(NextEvent))
async def append(
    ctx: Context,
    domain: str,
    stream_id: str,
    body: Annotated[NextEvent, body_of(NextEvent)],
    key: Key = None,
) -> Response:
    """Append an event of a domain of yours. The same Idempotency-Key again returns the first event."""
    if domain in RESERVED_DOMAINS:
        raise Refused(f"events of a {domain} are not appended here; use the routes of its own")
    event = await append_to(await _stream(ctx, domain, stream_id), body, key, expected_seq=body.expected_seq)
    return json_response(event.envelope(), status_of(event))


@routes.get("/{domain}/{stream_id}/events")
async def events(
    ctx: Context,
    domain: str,
    stream_id: str,
    after: After = None,
    holes: Annotated[str, Query(description="the open numbers, as in `next`")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    wait: Annotated[float, Query(ge=0, le=60, description="seconds to wait for new events")] = 0,
) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    stream = await _stream(ctx, domain, stream_id)
    return json_response(await poll(ctx, PageRequest(stream.id, parse_after(after), holes, limit, wait)))


@routes.get("/{domain}/{stream_id}/stream")
async def follow(
    ctx: Context,
    domain: str,
    stream_id: str,
    after: After = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    stream = await _stream(ctx, domain, stream_id)
    client = ClientStream(ctx.app.ledger, stream.id, parse_after(last_event_id or after), ctx.heartbeat)
    return EventStream(client.pieces(ctx.feeds), ctx)


async def _stream(ctx: WebContext, domain: str, stream_id: str) -> Stream:
    """Return a stream of this domain; one of another domain is unknown here."""
    stream = await ctx.app.streams(await ctx.app.registry.find(domain)).open(stream_id)
    rows = await ctx.app.ledger.ask("stream_domain", entity=stream.id)
    if rows and rows[0][0] != domain:
        raise UnknownEntity(f"there is no {domain} {stream.id}; check the id and the domain")
    return stream
