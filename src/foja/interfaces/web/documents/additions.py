"""Add a document: its bytes as a body or a form, or its digest as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from foja.domains.documents.document import Document
from foja.domains.requests.service import KeyedRequest
from foja.engine.ledger.event import parse_id
from foja.interfaces.answers.documents import AddedDocument, Digest
from foja.interfaces.operations.operation import Made
from foja.interfaces.operations.records.documents import add_digest
from foja.interfaces.operations.requests import added
from foja.interfaces.web.binding import object_model
from foja.interfaces.web.bodies import JSON, parse_body
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import HttpOperation, describe_upload
from foja.interfaces.web.transfer.bodies import media_type_of
from foja.interfaces.web.transfer.form import open_body
from foja.interfaces.web.transfer.source import BodySource, received
from foja.pure.models.access.principal import Scope

FIELDS = {"name", "media_type", "predecessor"}
BODY = object_model(Digest)


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said about the bytes of a document."""

    name: str | None = None
    media_type: str | None = None
    predecessor: str | None = None


async def add(
    caller: Caller,
    *,
    name: Annotated[str | None, "of bytes that are sent as they are"] = None,
    predecessor: Annotated[UUID | None, "the id of the version before it"] = None,
) -> Made[AddedDocument]:
    """Add a document: its bytes as they are or in a form, or its digest as JSON.

    The same bytes under the same name are the same document: adding it again answers 200.
    """
    request, named = caller.http, caller.request()
    if media_type_of(request) == JSON:
        body = vars(await parse_body(request, BODY))
        await named.found(body)
        document = await add_digest(caller, Digest(**body))
        await named.note(body, str(document.id))
        return _added(document)
    form, pieces = await open_body(request, caller.app.settings.upload_bytes, FIELDS)
    if form:
        labels = Labels(**{"name": form.filename, "media_type": form.media_type, **form.fields})
    else:
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


def _added(document: Document) -> Made[AddedDocument]:
    return Made(added(document), new=document.new)


OPERATIONS = (
    HttpOperation(
        *("documents.add", "POST /v1/documents", add, Scope.WRITE),
        queried=True,
        takes_key=True,
        location="/v1/documents/{0.id}",
        reads=describe_upload(*sorted(FIELDS), json=BODY.model_json_schema()),
    ),
)
