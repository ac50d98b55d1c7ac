"""The kinds of galleries. A stream is the gallery of one product; it is written at the head only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from foja.pure.core.registry import API, Domain, JobType, Kind

RENDERER: Final = frozenset({"render-image"})
ADDED, MOVED, REPLACED, REMOVED = "image.added", "image.moved", "image.replaced", "image.removed"
DESCRIBED, RENDERED, SKIPPED, FAILED = "image.described", "image.rendered", "image.skipped", "image.failed"

IMAGE_ID: Final = {"image_id": "string"}
REASON: Final = {"reason": "string"}
# What the check at upload found in the bytes.
METADATA: Final = {
    "media_type": "string",
    "width": "number",
    "height": "number",
    "frames": "number",
    "size": "number",
    "name": "string",
}
# Which of the image's contents was rendered, and as what.
TARGET: Final = {"original": "string", "variant": "string", "spec": "string"}

_KINDS = (
    # Either `object`, the digest of stored bytes, or `url`, an address that is never fetched. `adopted` is
    # the row of an existing table that the image was taken from.
    Kind(
        ADDED,
        API,
        {},
        {
            "object": "string",
            "url": "string",
            "alt": "string",
            "supplier_id": "string",
            "adopted": "object",
            **METADATA,
        },
        digests=("object",),
        erasable=True,
    ),
    Kind(MOVED, API, {**IMAGE_ID, "to": "number"}),
    Kind(REPLACED, API, {**IMAGE_ID, "object": "string"}, METADATA, digests=("object",), erasable=True),
    Kind(REMOVED, API, {**IMAGE_ID, **REASON}),
    Kind(DESCRIBED, API, {**IMAGE_ID, "alt": "string"}, erasable=True),
    Kind(
        RENDERED,
        RENDERER,
        {
            **IMAGE_ID,
            **TARGET,
            "object": "string",
            "media_type": "string",
            "width": "number",
            "height": "number",
            "size": "number",
        },
        {"thumbhash": "string", "ms": "number"},
        digests=("original", "spec", "object"),
    ),
    Kind(SKIPPED, RENDERER, {**IMAGE_ID, **REASON}, TARGET),
    Kind(FAILED, RENDERER | {"sweeper"}, {**IMAGE_ID, **REASON}, {"failure_code": "string", **TARGET}),
)
# The guard keeps `product_images` with the events, and refuses what would break the order.
IMAGE = Domain(
    "image",
    [replace(kind, tracked=True) for kind in _KINDS],
    jobs=[JobType("render_image", "render-image", lease=120, backoff=5)],
    head_only=True,
)


class Fact(NamedTuple):
    """What the order of a gallery depends on in one event."""

    seq: int
    id: UUID
    kind: str
    at: datetime
    key: str | None  # the idempotency key: it names the image where the body was erased
    payload: Mapping[str, Any] | None
