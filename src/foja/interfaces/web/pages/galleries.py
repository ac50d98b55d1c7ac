"""`/galleries`: the images of products: upload, reorder, describe, remove; variants and their state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from fastapi import Request, Response

from foja.engine.ledger.event import new_id, parse_id
from foja.errors import BadPayload
from foja.interfaces.web.caller import Caller, Reader, Retrier, Writer
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import check_sizes, field, file_of, files_of, read_form, see_other
from foja.interfaces.web.pages.frame.page import Requested
from foja.interfaces.web.pages.texts.galleries import TEXTS

LIST_LIMIT: Final = 48
PREFERRED: Final = ("desktop", "w640", "w320", "tablet", "mobile")  # what a gallery shows of its variants
RASTER: Final = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/avif")
TONES: Final = {"queued": "info", "processing": "info", "success": "good", "error": "bad"}
routes = page_router(prefix="/galleries")


@routes.get("")
async def listing(caller: Reader, page: Requested, before: UUID | None = None) -> Response:
    """Show the newest galleries with their main images."""
    found = await caller.app.images.summaries(before=before, limit=LIST_LIMIT)
    older = page.address(before=found[-1].product_id) if len(found) == LIST_LIMIT else None
    return page.render(
        "galleries/list.html",
        TEXTS,
        principal=caller.principal,
        found=found,
        shown=shown_variant,
        most=most_bytes(caller),
        older=older,
    )


@routes.post("")
async def create(caller: Writer, request: Request) -> Response:
    """Make a gallery of the images of a form."""
    product = new_id()
    await _add(caller, request, product)
    return see_other(f"/galleries/{product}")


@routes.get("/{product_id}")
async def show(caller: Reader, page: Requested, product_id: str) -> Response:
    """Show one gallery in its order."""
    images, product = caller.app.images, parse_id(product_id, "product")
    gallery = await images.list(product)
    return page.render(
        "galleries/gallery.html",
        TEXTS,
        principal=caller.principal,
        product=product,
        gallery=gallery,
        last=gallery.next_seq - 1,
        renderings=await images.renderings(product),
        thumbhashes=await images.thumbhashes(product),
        shown=shown_variant,
        most=most_bytes(caller),
        tones=TONES,
    )


@routes.post("/{product_id}")
async def upload(caller: Writer, request: Request, product_id: str) -> Response:
    """Add images at the end of a gallery."""
    await _add(caller, request, parse_id(product_id, "product"))
    return see_other(f"/galleries/{product_id}")


async def _add(caller: Caller, request: Request, product: UUID) -> None:
    form = await read_form(request)
    chosen = files_of(form, "file") or [file_of(form, "file")]
    check_sizes(chosen, most_bytes(caller), "FOJA_IMAGE_MAX_MB")
    for each in chosen:
        data = await each.read()
        await caller.app.images.add(product, data, name=each.filename, actor=caller.principal.actor)


@routes.post("/{product_id}/{image_id}/move")
async def move(caller: Writer, request: Request, product_id: str, image_id: str) -> Response:
    """Move an image to a place."""
    to = field(await read_form(request), "to")
    if not to.isdecimal():
        raise BadPayload(f"{to!r} is not a place: expected a number from 0 on")
    await caller.app.images.move(product_id, image_id, to=int(to), actor=caller.principal.actor)
    return see_other(f"/galleries/{product_id}")


@routes.post("/{product_id}/{image_id}/describe")
async def describe(caller: Writer, request: Request, product_id: str, image_id: str) -> Response:
    """Set the alternative text of an image."""
    alt = field(await read_form(request), "alt")
    await caller.app.images.describe(product_id, image_id, alt, actor=caller.principal.actor)
    return see_other(f"/galleries/{product_id}")


@routes.post("/{product_id}/{image_id}/remove")
async def remove(caller: Writer, request: Request, product_id: str, image_id: str) -> Response:
    """Remove an image; those after it move up."""
    await read_form(request)
    await caller.app.images.remove(product_id, image_id, actor=caller.principal.actor)
    return see_other(f"/galleries/{product_id}")


@routes.post("/{product_id}/{image_id}/render")
async def render(caller: Retrier, request: Request, product_id: str, image_id: str) -> Response:
    """Render the variants of an image again."""
    force = field(await read_form(request), "force") == "true"
    await caller.app.images.render(image_id, force=force)
    return see_other(f"/galleries/{product_id}")


@routes.get("/{product_id}/{image_id}/{variant}")
async def content(caller: Reader, product_id: str, image_id: str, variant: str) -> Response:
    """Return a variant of an image, or its original, for a page to show."""
    images = caller.app.images
    image = await images.image(product_id, image_id)
    data = await images.content(product_id, image_id, None if variant == "original" else variant)
    kind = _media_type(data) or str(image.metadata.get("media_type"))
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, max-age=300",
    }
    if kind not in RASTER:
        headers["Content-Disposition"] = "attachment"
    return Response(data, headers=headers, media_type=kind if kind in RASTER else "application/octet-stream")


def most_bytes(caller: Caller) -> int:
    """Return the most bytes of an image."""
    return int(caller.app.settings.image_max_mb * 1e6)


def shown_variant(variants: Mapping[str, str] | None) -> str | None:
    """Return the variant of an image that a gallery shows, if it has one."""
    names = variants or {}
    return next((each for each in PREFERRED if each in names), next(iter(names), None))


def _media_type(data: bytes) -> str | None:
    """Return the type of a variant by its first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    starts = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png", b"GIF8": "image/gif"}
    return next((kind for start, kind in starts.items() if data.startswith(start)), None)
