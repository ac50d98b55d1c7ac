"""Add a document: its bytes as a body or a form, or its digest as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from foja.domains.documents.document import Document
from foja.domains.requests.service import KeyedRequest
from foja.engine.ledger.event import parse_id
from foja.errors import BadPayload
from foja.interfaces.answers.documents import AddedDocument, Digest
from foja.interfaces.operations.records.documents import add_digest
from foja.interfaces.operations.requests import added
from foja.interfaces.web.binding import object_model
from foja.interfaces.web.bodies import JSON, parse_body
from foja.interfaces.web.caller import Caller, Writer
from foja.interfaces.web.reference.openapi import again, describe_upload
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.streams.appends import Key, keyed
from foja.interfaces.web.transfer.bodies import check_same_site, media_type_of, pieces_of
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.interfaces.web.transfer.form import FORM, FormReader
from foja.interfaces.web.transfer.source import BodySource, received

routes = api_router("/v1/documents", "documents")
FIELDS = {"name", "media_type", "predecessor"}
BODY = object_model(Digest)


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said about the bytes of a document."""

    name: str | None = None
    media_type: str | None = None
    predecessor: str | None = None


@routes.post(
    "",
    status_code=201,
    response_model=AddedDocument,
    responses=again(AddedDocument),
    openapi_extra=describe_upload(BODY, *sorted(FIELDS)),
)
async def add(
    caller: Writer,
    request: Request,
    name: Annotated[str | None, Query(description="of bytes that are sent as they are")] = None,
    predecessor: Annotated[UUID | None, Query(description="the id of the version before it")] = None,
    key: Key = None,
) -> Response:
    """Add a document: its bytes as they are or in a form, or its digest as JSON.

    The same bytes under the same name are the same document: adding it again answers 200.
    """
    named = keyed(caller, key, "/v1/documents")
    kind = media_type_of(request)
    if kind == JSON:
        body = vars(await parse_body(request, BODY))
        await named.found(body)
        document = await add_digest(caller.acting, Digest(**body))
        await named.note(body, str(document.id))
        return _added(document)
    check_same_site(request)
    pieces = pieces_of(request, caller.app.settings.upload_bytes)
    if kind == FORM:
        reader = FormReader(request, pieces)
        form = await reader.open()
        if unknown := sorted(form.fields.keys() - FIELDS):
            raise BadPayload(f"the form has no field {unknown[0]!r}: expected {', '.join(sorted(FIELDS))}")
        labels = Labels(**{"name": form.filename, "media_type": form.media_type, **form.fields})
        return _added(await _add_bytes(caller, named, reader.pieces(), labels))
    labels = Labels(name, request.headers.get("content-type"), str(predecessor) if predecessor else None)
    return _added(await _add_bytes(caller, named, pieces, labels))


async def _add_bytes(
    caller: Caller, named: KeyedRequest, pieces: AsyncIterator[bytes], labels: Labels
) -> Document:
    digest = sha256()
    if await named.known():  # then these bytes are compared, and not stored
        async for piece in pieces:
            digest.update(piece)
        [found] = await named.found({**asdict(labels), "sha256": digest.hexdigest()}) or [""]
        return await caller.app.documents.open(found)

    async def add(source: BodySource) -> Document:
        return await caller.app.documents.add(
            source,  # type: ignore[arg-type]  # a raw file that is read to its end
            name=labels.name,
            media_type=labels.media_type,
            predecessor=_predecessor(labels.predecessor),
            actor=caller.principal.actor,
        )

    document = await received(pieces, add)
    await named.note({**asdict(labels), "sha256": document.sha256}, str(document.id))
    return document


def _predecessor(text: str | None) -> UUID | None:
    return None if text is None else parse_id(text, "document")


def _added(document: Document) -> Response:
    address = {"Location": f"/v1/documents/{document.id}"}
    return JsonAnswer(added(document), 201 if document.new else 200, address)
