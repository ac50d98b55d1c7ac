"""`/v1/products/{id}/images`: add and replace the bytes of images."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from foja.interfaces.answers.images import ImageView
from foja.interfaces.operations.operation import Made
from foja.interfaces.operations.records.images import ExpectedSeq, view_of
from foja.interfaces.web.bodies import JSON, parse_body
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.galleries.images import FIELDS, received_image
from foja.interfaces.web.operation import HttpOperation, describe_upload
from foja.interfaces.web.transfer.bodies import media_type_of
from foja.pure.models.access.principal import Scope


class ExternalImage(BaseModel):
    """An image that is stored elsewhere. Its address is kept and never fetched."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://cdn.example/chair.jpg"}]},
    )

    url: str
    supplier_id: str | None = None
    alt: str | None = None
    expected_seq: Annotated[int, Field(ge=0, lt=2**63)] | None = None


async def add(
    caller: Caller,
    product_id: str,
    *,
    expected_seq: ExpectedSeq = None,
    actor: str | None = None,
    idempotency_key: str | None = None,
) -> Made[ImageView]:
    """Add an image at the end: its bytes as they are or in a form, or an address elsewhere as JSON."""
    opened = await caller.app.images.open(product_id)
    if media_type_of(caller.http) == JSON:
        fields = dict(await parse_body(caller.http, ExternalImage))
        if expected_seq is not None and fields["expected_seq"] is None:
            fields["expected_seq"] = expected_seq
        image = await opened.add_url(**fields, idempotency_key=idempotency_key, actor=actor)
    else:
        async with received_image(caller, FIELDS) as found:
            image = await opened.add(
                found.path,
                name=found.name,
                alt=found.fields.get("alt"),
                supplier_id=found.fields.get("supplier_id"),
                idempotency_key=idempotency_key,
                expected_seq=expected_seq,
                actor=actor,
            )
    return Made(view_of(opened.id, image), new=not image.replayed)


async def replace(
    caller: Caller,
    product_id: str,
    image_id: str,
    *,
    expected_seq: ExpectedSeq = None,
    actor: str | None = None,
    idempotency_key: str | None = None,
) -> ImageView:
    """Give an image another content. Its id and its place stay."""
    opened = await caller.app.images.open(product_id)
    async with received_image(caller, frozenset({"name"})) as found:
        image = await opened.replace(
            image_id,
            found.path,
            name=found.name,
            idempotency_key=idempotency_key,
            expected_seq=expected_seq,
            actor=actor,
        )
    return view_of(opened.id, image)


ALL = "/v1/products/{product_id}/images"
OPERATIONS = (
    HttpOperation(
        *("images.add", f"POST {ALL}", add, Scope.WRITE),
        queried=True,
        location=f"{ALL}/{{0.id}}",
        reads=describe_upload(*sorted(FIELDS), json=ExternalImage.model_json_schema()),
    ),
    HttpOperation(
        *("images.replace", f"PUT {ALL}/{{image_id}}", replace, Scope.WRITE),
        queried=True,
        reads=describe_upload("name"),
    ),
)
