"""`/v1/products/{id}/images`: add and replace the bytes of images."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import ConfigDict, Field

from foja.interfaces.answers.images import ImageView
from foja.interfaces.operations.caller import check_key
from foja.interfaces.operations.records.images import view_of
from foja.interfaces.web.bodies import JSON, RequestBody, parse_body
from foja.interfaces.web.caller import Writer
from foja.interfaces.web.galleries.images import FIELDS, received_image
from foja.interfaces.web.reference.openapi import again, describe_upload
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.streams.appends import Key
from foja.interfaces.web.transfer.bodies import media_type_of
from foja.interfaces.web.transfer.encoder import JsonAnswer
from foja.pure.models.images.gallery import Image

routes = api_router("/v1/products", "galleries")
ONE = "/{product_id}/images/{image_id}"
ExpectedSeq = Annotated[int | None, Query(ge=0, lt=2**63, description="refuses a change of another state")]


class ExternalImage(RequestBody):
    """An image that is stored elsewhere. Its address is kept and never fetched."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://cdn.example/chair.jpg"}]})

    url: str
    supplier_id: str | None = None
    alt: str | None = None
    expected_seq: Annotated[int, Field(ge=0, lt=2**63)] | None = None


@routes.post(
    "/{product_id}/images",
    status_code=201,
    response_model=ImageView,
    responses=again(ImageView),
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


@routes.put(ONE, response_model=ImageView, openapi_extra=describe_upload(None, "name"))
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
    return JsonAnswer(view_of(opened.id, image))


def _made(product_id: UUID, image: Image) -> Response:
    address = {"Location": f"/v1/products/{product_id}/images/{image.id}"}
    return JsonAnswer(view_of(product_id, image), 200 if image.replayed else 201, address)
