"""`/galleries`: the images of products: upload, reorder, describe, remove; variants and their state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response

from foja.engine.ledger.event import new_id, parse_id
from foja.interfaces.web.pages.frame.forms import check_sizes, file_of, files_of, form, read_form, see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.images.headers.parser import parse_header

LIST_LIMIT: Final = 48
PREFERRED: Final = ("desktop", "w640", "w320", "tablet", "mobile")  # what a gallery shows of its variants
RASTER: Final = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/avif")
TONES: Final = {"queued": "info", "processing": "info", "success": "good", "error": "bad"}


async def listing(page: Page, before: UUID | None = None) -> Response:
    """Show the newest galleries with their main images."""
    found = await page.caller.app.images.summaries(before=before, limit=LIST_LIMIT)
    older = page.address(before=found[-1].product_id) if len(found) == LIST_LIMIT else None
    return page.render(
        "galleries/list.html",
        "galleries",
        found=found,
        shown=shown_variant,
        most=most_bytes(page),
        older=older,
    )


async def create(page: Page) -> Response:
    """Make a gallery of the images of a form."""
    product = new_id()
    await _add(page, product)
    return see_other(f"/galleries/{product}")


async def show(page: Page, product_id: str) -> Response:
    """Show one gallery in its order."""
    images, product = page.caller.app.images, parse_id(product_id, "product")
    gallery = await images.list(product)
    return page.render(
        "galleries/gallery.html",
        "galleries",
        product=product,
        gallery=gallery,
        last=gallery.next_seq - 1,
        renderings=await images.renderings(product),
        thumbhashes=await images.thumbhashes(product),
        shown=shown_variant,
        most=most_bytes(page),
        tones=TONES,
    )


async def upload(page: Page, product_id: str) -> Response:
    """Add images at the end of a gallery."""
    await _add(page, parse_id(product_id, "product"))
    return see_other(f"/galleries/{product_id}")


async def _add(page: Page, product: UUID) -> None:
    caller, sent = page.caller, await read_form(page.request)
    chosen = files_of(sent, "file") or [file_of(sent, "file")]
    check_sizes(chosen, most_bytes(page), "FOJA_IMAGE_MAX_MB")
    for each in chosen:
        data = await each.read()
        await caller.app.images.add(product, data, name=each.filename, actor=caller.principal.actor)


async def content(page: Page, product_id: str, image_id: str, variant: str) -> Response:
    """Return a variant of an image, or its original, for a page to show."""
    images = page.caller.app.images
    data = await images.content(product_id, image_id, None if variant == "original" else variant)
    kind = parse_header(data).media_type
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, max-age=300",
    }
    if kind not in RASTER:
        headers["Content-Disposition"] = "attachment"
    return Response(data, headers=headers, media_type=kind if kind in RASTER else "application/octet-stream")


def most_bytes(page: Page) -> int:
    """Return the most bytes of an image."""
    return int(page.caller.app.settings.image_max_mb * 1e6)


def shown_variant(variants: Mapping[str, str] | None) -> str | None:
    """Return the variant of an image that a gallery shows, if it has one."""
    names = variants or {}
    return next((each for each in PREFERRED if each in names), next(iter(names), None))


ALL, GALLERY, WRITE = "/galleries", "/galleries/{product_id}", Scope.WRITE
ONE = f"{GALLERY}/{{image_id}}"
PAGES = (
    PageRoute(f"GET {ALL}", listing),
    PageRoute(f"POST {ALL}", create, WRITE),
    PageRoute(f"GET {GALLERY}", show),
    PageRoute(f"POST {GALLERY}", upload, WRITE),
    PageRoute(f"GET {ONE}/{{variant}}", content),
    form(f"{ONE}/move", "images.move", GALLERY),
    form(f"{ONE}/describe", "images.describe", GALLERY),
    form(f"{ONE}/remove", "images.remove", GALLERY),
    form(f"{ONE}/render", "images.render", GALLERY),
)
