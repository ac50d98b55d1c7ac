"""Add documents: bytes as a body or a form, digests as JSON, one or many."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response

from foja.documents.document import Document
from foja.errors import BadPayload, FojaError
from foja.ledger.event import parse_id
from foja.requests.service import KeyedRequest
from foja.web.bodies import JSON, body_of, describe_body, parse_body
from foja.web.caller import Caller, Writer
from foja.web.documents.bodies import DigestBatch, DigestBody
from foja.web.problems import describe_problem
from foja.web.reference.answers.documents import AddedDocument, DocumentBatchAnswer
from foja.web.reference.openapi import again, describe_upload
from foja.web.routers import api_router
from foja.web.streams.appends import Key, keyed
from foja.web.streams.proofs import protected
from foja.web.transfer.bodies import check_same_site, media_type_of, pieces_of
from foja.web.transfer.encoder import JsonAnswer
from foja.web.transfer.form import FORM, FormReader
from foja.web.transfer.source import BodySource, received

routes = api_router("/v1/documents", "documents")
FIELDS = {"name", "media_type", "predecessor"}


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
    openapi_extra=describe_upload(DigestBody, *sorted(FIELDS)),
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
        body = await parse_body(request, DigestBody)
        await named.found(dict(body))
        document = await _add_digest(caller, body)
        await named.note(dict(body), str(document.id))
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


@routes.post(
    "/batch",
    response_model=DocumentBatchAnswer,
    openapi_extra=describe_body(DigestBatch),
)
async def add_many(
    caller: Writer, body: Annotated[DigestBatch, body_of(DigestBatch)], key: Key = None
) -> Response:
    """Add many documents by their digests, each by itself; see the result of each."""
    named, asked = keyed(caller, key, "/v1/documents/batch"), body.model_dump()
    await named.found(asked)
    results = [await _result(caller, each, body.required_evidence) for each in body.documents]
    await named.note(asked)
    added = sum(bool(each["document"] and each["document"]["new"]) for each in results)
    return JsonAnswer({"added": added, "results": results})


async def _result(caller: Caller, digest: DigestBody, evidence: list[str] | None) -> dict[str, Any]:
    try:
        document = await _add_digest(caller, digest)
        if evidence is not None:
            await document.protect(evidence, actor=caller.principal.actor)
    except FojaError as error:
        return {"document": None, "problem": describe_problem(error)}
    return {"document": protected(document), "problem": None}


async def _add_digest(caller: Caller, body: DigestBody) -> Document:
    fields = {**dict(body), "predecessor": _predecessor(body.predecessor)}
    return await caller.app.documents.add_digest(**fields, actor=caller.principal.actor)


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
    return JsonAnswer(protected(document), 201 if document.new else 200, address)
