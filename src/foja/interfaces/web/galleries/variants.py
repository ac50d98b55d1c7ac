"""HTTP routes of the bytes of images: variants for readers, originals for writers."""

from __future__ import annotations

import io
from typing import Annotated

from starlette.responses import Response

from foja.errors import ObjectMissing
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import HttpOperation, file_answer
from foja.interfaces.web.transfer.files import FileAnswer, attachment
from foja.interfaces.web.transfer.ranges import matches
from foja.pure.models.access.principal import Scope
from foja.pure.models.images.gallery import OBJECT
from foja.pure.models.images.headers.parser import parse_header

TYPES = ("image/jpeg", "image/webp", "image/avif", "image/png")
FOR_EVER = "private, max-age=31536000, immutable"
CHECKED = "private, no-cache"


async def variant(
    caller: Caller,
    product_id: str,
    image_id: str,
    variant: str,
    *,
    v: Annotated[str | None, "the digest of a version; it may be cached for ever"] = None,
) -> Response:
    """Return a variant. With `v`, as in the addresses of an image, it is that version or nothing."""
    opened = await caller.app.images.open(product_id)
    url = (await opened.image(image_id)).variants.get(variant, "")
    digest = url.removeprefix(OBJECT) if url.startswith(OBJECT) else None
    if digest is None or v not in (None, digest):
        raise ObjectMissing(f"the image {image_id} has no such variant now; read its addresses again")
    headers, tag = {"Cache-Control": FOR_EVER if v else CHECKED}, f'"{digest}"'
    if matches(caller.http.headers, tag):
        return Response(status_code=304, headers={**headers, "ETag": tag})
    data = await opened.content(image_id, variant)
    return FileAnswer(io.BytesIO(data), parse_header(data).media_type, etag=tag, headers=headers)


async def original(caller: Caller, product_id: str, image_id: str) -> Response:
    """Download the bytes of an image as they were uploaded, with all metadata; never shown in a page."""
    opened = await caller.app.images.open(product_id)
    image = await opened.image(image_id)
    data = await opened.content(image_id)
    headers = {
        "Content-Disposition": attachment(str(image.metadata.get("name") or image.id)),
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": CHECKED,
    }
    return FileAnswer(io.BytesIO(data), "application/octet-stream", etag=f'"{image.object}"', headers=headers)


ONE = "GET /v1/products/{product_id}/images/{image_id}"
OPERATIONS = (
    HttpOperation(
        *("images.variant", f"{ONE}/variants/{{variant}}", variant, Scope.READ),
        answers=file_answer(*TYPES, ranges=True),
    ),
    HttpOperation(
        *("images.original", f"{ONE}/original", original, Scope.WRITE),
        answers=file_answer("application/octet-stream", ranges=True),
    ),
)
