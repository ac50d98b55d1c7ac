"""Images as answers, and the bytes of a request that become one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from fastapi import Request

from foja.errors import BadPayload
from foja.images.gallery import GalleryView
from foja.images.model.gallery import OBJECT, Image
from foja.web.caller import Caller
from foja.web.transfer.bodies import check_same_site, media_type_of, pieces_of
from foja.web.transfer.form import FORM, FormReader
from foja.web.transfer.spool import spooled

FIELDS = frozenset({"name", "alt", "supplier_id"})
SHOWN = ("media_type", "width", "height", "frames", "size", "name")


@dataclass(frozen=True, slots=True)
class ReceivedImage:
    """The bytes of an image in a file, and what the form says about them."""

    path: Path
    name: str | None
    fields: Mapping[str, str]


@asynccontextmanager
async def received_image(
    request: Request, caller: Caller, allowed: frozenset[str]
) -> AsyncIterator[ReceivedImage]:
    """Yield the image that a request carries as it is, or in a form with these fields."""
    check_same_site(request)
    pieces = pieces_of(request, int(caller.app.settings.image_max_mb * 1e6) + 65_536)
    if media_type_of(request) != FORM:
        async with spooled(pieces) as path:
            yield ReceivedImage(path, None, {})
        return
    reader = FormReader(request, pieces)
    form = await reader.open()
    if unknown := sorted(form.fields.keys() - allowed):
        raise BadPayload(f"the form has no field {unknown[0]!r}: expected {', '.join(sorted(allowed))}")
    async with spooled(reader.pieces()) as path:
        yield ReceivedImage(path, form.fields.get("name", form.filename), form.fields)


def describe_gallery(product_id: UUID, view: GalleryView) -> dict[str, Any]:
    """Return a gallery as a JSON object."""
    images = [describe_image(product_id, each) for each in view]
    return {"product_id": str(product_id), "next_seq": view.next_seq, "images": images}


def describe_image(product_id: UUID, image: Image) -> dict[str, Any]:
    """Return an image as a JSON object, with the addresses of its variants."""
    base = f"/v1/products/{product_id}/images/{image.id}/variants"
    variants = {
        name: f"{base}/{name}?v={url.removeprefix(OBJECT)}" if url.startswith(OBJECT) else url
        for name, url in image.variants.items()
    }
    return {
        "id": str(image.id),
        "order": image.order,
        "main": image.main,
        "url": image.url,
        "alt": image.alt,
        "created_at": image.created_at,
        "erased": image.erased,
        **{name: image.metadata.get(name) for name in SHOWN},
        "variants": variants,
    }
