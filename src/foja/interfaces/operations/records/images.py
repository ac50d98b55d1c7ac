"""What callers can do with galleries: list, order, describe, remove, protect and render their images."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, TypeAlias
from uuid import UUID

from pydantic import Field

from foja.domains.documents.document import Document
from foja.domains.images.gallery import Gallery
from foja.domains.images.service import Images
from foja.engine.ledger.event import Event
from foja.errors import UnknownImage
from foja.interfaces.answers.documents import AddedDocument
from foja.interfaces.answers.images import ImageList, ImageView, ProductPage, RenderedCount
from foja.interfaces.answers.streams import StreamId
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Made, Operation
from foja.interfaces.operations.records.streams import Evidence, Limit
from foja.interfaces.operations.requests import protect_once
from foja.pure.core.fields import many
from foja.pure.models.access.principal import Scope
from foja.pure.models.images.gallery import OBJECT, Image
from foja.pure.models.images.rendering import RenderState

Id: TypeAlias = UUID | str
ImageId = Annotated[UUID | str, "its id, or its place in the gallery as it is now"]
Galleries: TypeAlias = Images[Document]
ExpectedSeq = Annotated[int | None, Field(ge=0, lt=2**63), "refuses a change of another state"]
Place = Annotated[int, Field(ge=0, lt=2**31)]
Force = Annotated[bool, "also what failed as often as it may be tried"]
PLACE = re.compile(r"\d{1,10}")  # shorter than any id
SHOWN = ("media_type", "width", "height", "frames", "size", "name")


async def products(
    images: Galleries,
    *,
    after: Annotated[UUID | None, "the last id of the page before"] = None,
    limit: Limit = 100,
) -> ProductPage:
    """List products by id."""
    found = await images.products(after=after, limit=limit)
    return ProductPage([StreamId(each) for each in found], found[-1] if len(found) == limit else None)


async def gallery(
    images: Galleries,
    product_id: Id,
    *,
    at: Annotated[int | None, Field(ge=0, lt=2**31), "as it was after so many events"] = None,
) -> ImageList:
    """List the images of a product in order; a product without events has none."""
    opened = await images.open(product_id)
    found = await opened.list(at=at)
    return ImageList([view_of(opened.id, each) for each in found], opened.id, found.next_seq)


async def image(images: Galleries, product_id: Id, image_id: ImageId) -> ImageView:
    """Return one image."""
    opened, image_id, _ = await _find(images, product_id, image_id)
    return view_of(opened.id, await opened.image(image_id))


async def move(
    images: Galleries,
    product_id: Id,
    image_id: ImageId,
    *,
    to: Place,
    expected_seq: ExpectedSeq = None,
    actor: str | None = None,
    idempotency_key: str | None = None,
) -> ImageView:
    """Move an image to a place; place 0 makes it the main one."""
    opened, image_id, expected_seq = await _find(images, product_id, image_id, expected_seq)
    moved = await opened.move(
        image_id, to=to, expected_seq=expected_seq, actor=actor, idempotency_key=idempotency_key
    )
    return view_of(opened.id, moved)


async def describe(
    images: Galleries,
    product_id: Id,
    image_id: ImageId,
    alt: str,
    *,
    expected_seq: ExpectedSeq = None,
    actor: str | None = None,
    idempotency_key: str | None = None,
) -> ImageView:
    """Set the alternative text of an image; an empty one removes it."""
    opened, image_id, expected_seq = await _find(images, product_id, image_id, expected_seq)
    described = await opened.describe(
        image_id, alt, expected_seq=expected_seq, actor=actor, idempotency_key=idempotency_key
    )
    return view_of(opened.id, described)


async def remove(
    images: Galleries,
    product_id: Id,
    image_id: ImageId,
    *,
    reason: Annotated[str, Field(min_length=1, max_length=1000)] = "removed",
    expected_seq: ExpectedSeq = None,
    actor: str | None = None,
) -> Event:
    """Remove an image; those after it move up."""
    opened, image_id, expected_seq = await _find(images, product_id, image_id, expected_seq)
    return await opened.remove(image_id, reason=reason, expected_seq=expected_seq, actor=actor)


async def protect(caller: Caller, product_id: Id, required_evidence: Evidence = "tsa") -> Made[AddedDocument]:
    """Add the sealed events of a gallery as a document and request evidence of it."""
    protect = partial(caller.app.images.protect, product_id)
    return await protect_once(caller, protect, many(required_evidence))


async def render_failed(images: Galleries, product_id: Id, *, force: Force = False) -> RenderedCount:
    """Render the images of a product again whose last job failed or was skipped."""
    await images.list(product_id)  # refuses a stream of another domain
    return RenderedCount(await images.render(product_id=product_id, force=force))


async def render(
    images: Galleries, product_id: Id, image_id: ImageId, *, force: Force = False
) -> RenderedCount:
    """Render an image again."""
    opened, image_id, _ = await _find(images, product_id, image_id)
    return RenderedCount(await images.render(await opened.image(image_id), force=force))


async def rendering(images: Galleries, product_id: Id, image_id: ImageId) -> RenderState:
    """Return how far the variants of an image are."""
    opened, image_id, _ = await _find(images, product_id, image_id)
    return await images.rendering(await opened.image(image_id))


def view_of(product_id: UUID, image: Image) -> ImageView:
    """Return an image as callers see it, with the addresses of its variants."""
    base = f"/v1/products/{product_id}/images/{image.id}/variants"
    variants = {
        name: f"{base}/{name}?v={url.removeprefix(OBJECT)}" if url.startswith(OBJECT) else url
        for name, url in image.variants.items()
    }
    return ImageView(
        id=image.id,
        order=image.order,
        main=image.main,
        url=image.url,
        alt=image.alt,
        created_at=image.created_at,
        erased=image.erased,
        variants=variants,
        **{name: image.metadata.get(name) for name in SHOWN},
    )


async def _find(
    images: Galleries, product_id: Id, image_id: Id, expected_seq: int | None = None
) -> tuple[Gallery, Id, int | None]:
    """Return the gallery, the image and the expected number: a place is that of the gallery as it is now."""
    opened = await images.open(product_id)
    if not PLACE.fullmatch(str(image_id)):
        return opened, image_id, expected_seq
    found, place = await opened.list(), int(str(image_id))
    if place >= len(found):
        raise UnknownImage(f"{opened.id} has {len(found)} images and none at place {place}; list them")
    return opened, found[place].id, found.next_seq if expected_seq is None else expected_seq


def _images(caller: Caller) -> Galleries:
    return caller.app.images


READ, WRITE, RETRY = Scope.READ, Scope.WRITE, Scope.RETRY
PRODUCT = "/v1/products/{product_id}"
ALL, ONE = f"{PRODUCT}/images", f"{PRODUCT}/images/{{image_id}}"
OPERATIONS = (
    Operation("images.products", "GET /v1/products", products, READ, _images),
    Operation("images.list", f"GET {ALL}", gallery, READ, _images),
    Operation("images.image", f"GET {ONE}", image, READ, _images),
    Operation("images.move", f"POST {ONE}/move", move, WRITE, _images),
    Operation("images.describe", f"POST {ONE}/describe", describe, WRITE, _images),
    Operation("images.remove", f"DELETE {ONE}", remove, WRITE, _images, repeatable=False),
    Operation("images.protect", f"POST {PRODUCT}/protect", protect, WRITE, takes_key=True),
    Operation("images.render_failed", f"POST {ALL}/render", render_failed, RETRY, _images, queried=True),
    Operation("images.render", f"POST {ONE}/render", render, RETRY, _images, queried=True),
    Operation("images.rendering", f"GET {ONE}/rendering", rendering, READ, _images),
)
