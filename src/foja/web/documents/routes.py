"""`/v1/documents`: list, view, read and follow the events of a document."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Response

from foja.web.caller import Reader
from foja.web.conversations.long_poll import RequestedPage, Start, poll
from foja.web.conversations.stream import stream_events
from foja.web.documents.address import ReadDocument
from foja.web.reference.answers.documents import DocumentAnswer, DocumentPage
from foja.web.reference.answers.events import EventPage, EventProofAnswer
from foja.web.reference.openapi import EVENT_STREAM
from foja.web.routers import api_router
from foja.web.streams.proofs import Seq, proof_of
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/documents", "documents")
Wanted = Literal["none", "protected", "reinforced", "final", "given_up"]


@routes.get("", response_model=DocumentPage)
async def documents(
    caller: Reader,
    state: Annotated[Wanted | None, Query(description="`given_up`: evidence failed for good")] = None,
    before: Annotated[UUID | None, Query(description="the last id of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List documents, newest first; `next` is the address of older ones."""
    found = await caller.app.documents.list(before=before, limit=limit, state=state)
    rows = [{name: getattr(each, name) for name in each.__slots__} for each in found]
    more = None
    if len(found) == limit:
        query = {"before": found[-1].id, "limit": limit} | ({"state": state} if state else {})
        more = f"/v1/documents?{urlencode(query)}"
    return JsonAnswer({"documents": rows, "next": more})


@routes.get("/{document_id}", response_model=DocumentAnswer)
async def document(caller: Reader, document_id: str) -> Response:
    """Return a document as its events show it: its state, its evidence, and what happens next."""
    return JsonAnswer((await caller.app.documents.view(document_id)).document())


@routes.get("/{document_id}/events", response_model=EventPage)
async def events(caller: Reader, document: ReadDocument, page: RequestedPage) -> Response:
    """Read a page of events; with `wait`, wait for new ones (long polling)."""
    return JsonAnswer(await poll(caller, document, page, f"/v1/documents/{document}/events"))


@routes.get("/{document_id}/events/{seq}/proof", response_model=EventProofAnswer)
async def proof(caller: Reader, document: ReadDocument, seq: Seq) -> Response:
    """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
    opened = await caller.app.documents.open(document)
    return JsonAnswer(await proof_of(opened, seq, caller.app.trust[0]))


@routes.get("/{document_id}/stream", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, document: ReadDocument, start: Start) -> Response:
    """Follow as server-sent events (`event`, `reset`), after Last-Event-ID."""
    return stream_events(caller, document, start)
