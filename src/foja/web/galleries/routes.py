"""`/v1/products/{id}/images`: list, add, replace, move, describe, remove, protect."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response

from foja.answers.documents import AddedDocument
from foja.images.model.gallery import Image
from foja.operations.caller import check_key
from foja.web.bodies import JSON, body_of, describe_body, parse_body
from foja.web.caller import Reader, Writer
from foja.web.galleries.bodies import DescriptionBody, ExternalImage, MoveBody
from foja.web.galleries.images import FIELDS, describe_gallery, describe_image, received_image
from foja.web.reference.answers.events import EventAnswer
from foja.web.reference.answers.galleries import GalleryAnswer, ImageAnswer, ProductPage
from foja.web.reference.openapi import again, describe_upload
from foja.web.routers import api_router
from foja.web.streams.appends import Key
from foja.web.streams.proofs import ProtectionRequest, protect_once
from foja.web.transfer.bodies import media_type_of
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/products", "galleries")
ONE = "/{product_id}/images/{image_id}"
ExpectedSeq = Annotated[int | None, Query(ge=0, lt=2**63, description="refuses a change of another state")]
Number = Annotated[int | None, Query(ge=0, lt=2**31, description="as it was after so many events")]


@routes.get("", response_model=ProductPage)
async def products(
    caller: Reader,
    after: Annotated[UUID | None, Query(description="the last id of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List products by id; `next` is the address of those after them."""
    found = await caller.app.images.products(after=after, limit=limit)
    more = f"/v1/products?after={found[-1]}&limit={limit}" if len(found) == limit else None
    return JsonAnswer({"products": [{"id": str(each)} for each in found], "next": more})


@routes.get("/{product_id}/images", response_model=GalleryAnswer)
async def gallery(caller: Reader, product_id: str, at: Number = None) -> Response:
    """List the images of a product in order; a product without events has none."""
    opened = await caller.app.images.open(product_id)
    return JsonAnswer(describe_gallery(opened.id, await opened.list(at=at)))


@routes.post(
    "/{product_id}/images",
    status_code=201,
    response_model=ImageAnswer,
    responses=again(ImageAnswer),
    openapi_extra=describe_upload(ExternalImage, *sorted(FIELDS)),
)
async def add(
    caller: Writer, request: Request, product_id: str, expected_seq: ExpectedSeq = None, key: Key = None
) -> Response:
    """Add an image at the end: its bytes as they are or in a form, or an address elsewhere as JSON."""
    check_key(key)
    opened = await caller.app.images.open(product_id)
    if media_type_of(request) == JSON:
        fields = dict(await parse_body(request, ExternalImage))
        if expected_seq is not None and fields["expected_seq"] is None:
            fields["expected_seq"] = expected_seq
        image = await opened.add_url(**fields, idempotency_key=key, actor=caller.principal.actor)
        return _made(opened.id, image)
    async with received_image(request, caller, FIELDS) as found:
        image = await opened.add(
            found.path,
            name=found.name,
            alt=found.fields.get("alt"),
            supplier_id=found.fields.get("supplier_id"),
            idempotency_key=key,
            expected_seq=expected_seq,
            actor=caller.principal.actor,
        )
    return _made(opened.id, image)


@routes.get(ONE, response_model=ImageAnswer)
async def image(caller: Reader, product_id: str, image_id: str) -> Response:
    """Return one image."""
    opened = await caller.app.images.open(product_id)
    return JsonAnswer(describe_image(opened.id, await opened.image(image_id)))


@routes.put(ONE, response_model=ImageAnswer, openapi_extra=describe_upload(None, "name"))
async def replace(
    caller: Writer,
    request: Request,
    product_id: str,
    image_id: str,
    expected_seq: ExpectedSeq = None,
    key: Key = None,
) -> Response:
    """Give an image another content. Its id and its place stay."""
    check_key(key)
    opened = await caller.app.images.open(product_id)
    async with received_image(request, caller, frozenset({"name"})) as found:
        image = await opened.replace(
            image_id,
            found.path,
            name=found.name,
            idempotency_key=key,
            expected_seq=expected_seq,
            actor=caller.principal.actor,
        )
    return JsonAnswer(describe_image(opened.id, image))


@routes.delete(ONE, response_model=EventAnswer)
async def remove(
    caller: Writer,
    product_id: str,
    image_id: str,
    reason: Annotated[str, Query(min_length=1, max_length=1000)] = "removed",
    expected_seq: ExpectedSeq = None,
) -> Response:
    """Remove an image; those after it move up."""
    event = await caller.app.images.remove(
        product_id, image_id, reason=reason, expected_seq=expected_seq, actor=caller.principal.actor
    )
    return JsonAnswer(event.envelope())


@routes.post(f"{ONE}/move", response_model=ImageAnswer, openapi_extra=describe_body(MoveBody))
async def move(
    caller: Writer,
    product_id: str,
    image_id: str,
    body: Annotated[MoveBody, body_of(MoveBody)],
    key: Key = None,
) -> Response:
    """Move an image to a place; place 0 makes it the main one."""
    check_key(key)
    opened = await caller.app.images.open(product_id)
    who: dict[str, Any] = {"idempotency_key": key, "actor": caller.principal.actor}
    return JsonAnswer(describe_image(opened.id, await opened.move(image_id, **dict(body), **who)))


@routes.post(f"{ONE}/describe", response_model=ImageAnswer, openapi_extra=describe_body(DescriptionBody))
async def describe(
    caller: Writer,
    product_id: str,
    image_id: str,
    body: Annotated[DescriptionBody, body_of(DescriptionBody)],
    key: Key = None,
) -> Response:
    """Set the alternative text of an image."""
    check_key(key)
    opened = await caller.app.images.open(product_id)
    who: dict[str, Any] = {"idempotency_key": key, "actor": caller.principal.actor}
    return JsonAnswer(describe_image(opened.id, await opened.describe(image_id, **dict(body), **who)))


@routes.post(
    "/{product_id}/protect",
    status_code=201,
    response_model=AddedDocument,
    responses=again(AddedDocument),
    openapi_extra=describe_body(ProtectionRequest),
)
async def protect(
    caller: Writer,
    product_id: str,
    body: Annotated[ProtectionRequest, body_of(ProtectionRequest)],
    key: Key = None,
) -> Response:
    """Add the sealed events of a gallery as a document and request evidence of it."""
    protect = partial(caller.app.images.protect, product_id)
    return await protect_once(caller, key, f"/v1/products/{product_id}/protect", body, protect)


def _made(product_id: UUID, image: Image) -> Response:
    address = {"Location": f"/v1/products/{product_id}/images/{image.id}"}
    return JsonAnswer(describe_image(product_id, image), 200 if image.replayed else 201, address)
