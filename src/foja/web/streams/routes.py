"""`/v1/streams/{domain}/{id}`: streams of any registered domain, by the registry in the database."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Response

from foja.core.registry import RESERVED_DOMAINS, Domain
from foja.errors import Refused
from foja.streams import OwnStream
from foja.web.bodies import NextEvent, body_of, describe_body
from foja.web.caller import Caller, Reader, Writer
from foja.web.conversations.long_poll import RequestedPage, Start, poll
from foja.web.conversations.stream import stream_events
from foja.web.reference.answers.documents import AddedDocument
from foja.web.reference.answers.events import (
    DomainList,
    DomainStreamState,
    EventPage,
    EventProofAnswer,
    StreamPage,
)
from foja.web.reference.openapi import EVENT_STREAM, again, event_route
from foja.web.routers import api_router
from foja.web.streams.appends import Key, append_to, event_answer, state_of
from foja.web.streams.batches import BATCH_ROUTE, EventBatch, append_batch
from foja.web.streams.proofs import ProtectionRequest, Seq, proof_of, protect_once
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/streams", "streams")
ONE = "/{domain}/{stream_id}"


async def read_by(caller: Reader, domain: str, stream_id: str) -> OwnStream:
    """Return the stream that the address of a request names, for a caller who may read."""
    return await _open(caller, await caller.app.registry.find(domain), stream_id)


async def written_by(caller: Writer, domain: str, stream_id: str) -> OwnStream:
    """Return the stream that the address of a request names, for a caller who may write."""
    return await _open(caller, await caller.app.registry.find(domain), stream_id)


ReadStream = Annotated[OwnStream, Depends(read_by)]
WrittenStream = Annotated[OwnStream, Depends(written_by)]


@routes.get("", response_model=DomainList)
async def domains(caller: Reader) -> Response:
    """List the registered domains with their kinds."""
    found = await caller.app.registry.domains()
    return JsonAnswer({"domains": [domain.definition() for domain in found]})


@routes.get("/{domain}", response_model=StreamPage)
async def streams(
    caller: Reader,
    domain: str,
    before: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List the streams of a domain, newest first; `next` is the address of older ones."""
    found = await caller.app.streams(await caller.app.registry.find(domain)).list(before=before, limit=limit)
    more = f"/v1/streams/{domain}?before={found[-1]}&limit={limit}" if len(found) == limit else None
    return JsonAnswer({"streams": [{"id": str(each)} for each in found], "next": more})


@routes.get(ONE, response_model=DomainStreamState)
async def state(stream: ReadStream) -> Response:
    """Return how many events a stream has, and how many are sealed."""
    return JsonAnswer({**await state_of(stream), "domain": stream.domain.name})


@routes.post(f"{ONE}/events", **event_route(NextEvent))
async def append(
    caller: Writer,
    domain: str,
    stream_id: str,
    body: Annotated[NextEvent, body_of(NextEvent)],
    key: Key = None,
) -> Response:
    """Append an event of a domain of yours. The same Idempotency-Key again returns the first event."""
    found = await caller.app.registry.find(_own(domain), (body.kind, body.v))
    event = await append_to(await _open(caller, found, stream_id), body, key, caller)
    return event_answer(event)


@routes.post(f"{ONE}/events/batch", **BATCH_ROUTE)
async def append_many(
    caller: Writer,
    domain: str,
    stream_id: str,
    body: Annotated[EventBatch, body_of(EventBatch)],
    key: Key = None,
) -> Response:
    """Append many events of a domain of yours, all or none, or each by itself."""
    first = body.events[0]
    found = await caller.app.registry.find(_own(domain), (first.kind, first.v))
    return await append_batch(await _open(caller, found, stream_id), body, key, caller)


@routes.get(f"{ONE}/events", response_model=EventPage)
async def events(caller: Reader, stream: ReadStream, page: RequestedPage) -> Response:
    """Read a page of events and open slots; with `wait`, wait for new ones (long polling)."""
    address = f"/v1/streams/{stream.domain.name}/{stream.id}/events"
    return JsonAnswer(await poll(caller, stream.id, page, address))


@routes.get(f"{ONE}/events/{{seq}}/proof", response_model=EventProofAnswer)
async def proof(caller: Reader, stream: ReadStream, seq: Seq) -> Response:
    """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
    return JsonAnswer(await proof_of(stream, seq, caller.app.trust[0]))


@routes.get(f"{ONE}/stream", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, stream: ReadStream, start: Start) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    return stream_events(caller, stream.id, start)


@routes.post(
    f"{ONE}/protect",
    status_code=201,
    response_model=AddedDocument,
    responses=again(AddedDocument),
    openapi_extra=describe_body(ProtectionRequest),
)
async def protect(
    caller: Writer,
    stream: WrittenStream,
    body: Annotated[ProtectionRequest, body_of(ProtectionRequest)],
    key: Key = None,
) -> Response:
    """Add the sealed events as a document and request evidence of it."""
    address = f"/v1/streams/{stream.domain.name}/{stream.id}/protect"
    return await protect_once(caller, key, address, body, stream.protect)


def _own(domain: str) -> str:
    if domain in RESERVED_DOMAINS:
        raise Refused(f"events of a {domain} are not appended here; use the routes of its own")
    return domain


async def _open(caller: Caller, domain: Domain, stream_id: str) -> OwnStream:
    """Return a stream of this domain; one of another domain is unknown here."""
    stream = await caller.app.streams(domain).open(stream_id)
    await stream.check_domain()
    return stream
