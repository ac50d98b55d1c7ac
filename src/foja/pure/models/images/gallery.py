"""A gallery is a function of its events: gapless from 0, and the main image has order 0.

`product_images` holds the same, written with each event by the guard in SQL. `foja audit` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from foja.pure.models.images import events
from foja.pure.models.images.events import Fact

OBJECT, ERASED = "foja:sha256/", "foja:erased/"
SHOWN_VARIANT: Final = "desktop"  # the variant that `thumbnail_url` names
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00")


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a gallery at its place."""

    id: UUID  # of its `image.added`
    order: int
    url: str  # `foja:sha256/<digest>`, an external address, or `foja:erased/<event id>`
    alt: str | None
    created_at: datetime
    content_seq: int  # the event with its content: added, or last replaced
    alt_seq: int | None = None  # the event with its alternative text
    metadata: Mapping[str, Any] = field(default_factory=dict)  # media_type, width, height, frames, size, name
    variants: Mapping[str, str] = field(default_factory=dict)  # URL by name
    thumbnail_url: str | None = None
    signature: str | None = None  # the digest that the variants were made from
    replayed: bool = field(default=False, compare=False, repr=False)  # the change was recorded before

    @property
    def main(self) -> bool:
        """Whether this is the main image."""
        return self.order == 0

    @property
    def object(self) -> str | None:
        """The digest of its stored bytes; None if they are elsewhere or erased."""
        return self.url.removeprefix(OBJECT) if self.url.startswith(OBJECT) else None

    @property
    def erased(self) -> bool:
        """Whether its content was erased. Its place in the order stays."""
        return self.url.startswith(ERASED)

    def columns(self) -> dict[str, Any]:
        """Return its row of `product_images`, apart from the time of the last change."""
        return {
            "id": str(self.id),
            "image_url": self.url,
            "thumbnail_url": self.thumbnail_url,
            "thumbnails": dict(self.variants) or None,
            "image_order": self.order,
            "thumbnail_signature": self.signature,
            "created_at": self.created_at,
            "alt": self.alt,
            "content_seq": self.content_seq,
            "alt_seq": self.alt_seq,
        }


def fold(facts: Iterable[Fact]) -> list[Image]:
    """Return the gallery after these events. One about an image that is not there changes nothing."""
    gallery: list[Image] = []
    for fact in facts:
        gallery = _apply(gallery, fact)
    return [replace(image, order=order) for order, image in enumerate(gallery)]


def _apply(gallery: list[Image], fact: Fact) -> list[Image]:
    if fact.kind == events.ADDED:
        return [*gallery, added(fact)]
    at = _place(gallery, _image_id(fact))
    if at is None:
        return gallery
    body, image = fact.payload or {}, gallery[at]
    rest = [*gallery[:at], *gallery[at + 1 :]]
    if fact.kind == events.REMOVED:
        return rest
    if fact.kind == events.MOVED:
        to = body.get("to")
        return [*rest[:to], image, *rest[to:]] if is_place(to, len(gallery)) else gallery
    return [*gallery[:at], _changed(image, fact, body), *gallery[at + 1 :]]


def added(fact: Fact, order: int = 0) -> Image:
    """Return the image that an `image.added` adds."""
    body = fact.payload or {}
    adopted = body.get("adopted") or {}
    thumbnails = adopted.get("thumbnails")
    return Image(
        fact.id,
        order,
        _url(fact),
        body.get("alt") or None,
        _moment(adopted.get("created_at")) or fact.at,
        fact.seq,
        fact.seq if body.get("alt") else None,
        _metadata(body),
        thumbnails if isinstance(thumbnails, dict) else {},
        _text(adopted.get("thumbnail_url")),
        _text(adopted.get("thumbnail_signature")),
    )


def _changed(image: Image, fact: Fact, body: Mapping[str, Any]) -> Image:
    if fact.kind == events.REPLACED:
        return replace(
            image,
            url=_url(fact),
            content_seq=fact.seq,
            metadata=_metadata(body),
            variants={},
            thumbnail_url=None,
            signature=None,
        )
    if fact.kind == events.DESCRIBED:
        return replace(
            image, alt=body.get("alt") or None, alt_seq=fact.seq if fact.payload is not None else None
        )
    if fact.kind == events.RENDERED and body.get("original") == image.object:
        variants = {**image.variants, body["variant"]: OBJECT + body["object"]}
        return replace(
            image, variants=variants, thumbnail_url=variants.get(SHOWN_VARIANT), signature=image.object
        )
    return image


def _place(gallery: Sequence[Image], image_id: UUID | None) -> int | None:
    return next((at for at, image in enumerate(gallery) if image.id == image_id), None)


def _image_id(fact: Fact) -> UUID | None:
    """Return the image an event is about; its key names it where the body was erased."""
    named = fact.payload.get("image_id") if fact.payload is not None else (fact.key or "").partition(":")[0]
    try:
        return UUID(str(named))
    except ValueError:
        return None


def _url(fact: Fact) -> str:
    if fact.payload is None:
        return f"{ERASED}{fact.id}"
    digest = fact.payload.get("object")
    return f"{OBJECT}{digest}" if digest else str(fact.payload.get("url"))


def _metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in events.METADATA if name in body}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _moment(value: object) -> datetime | None:
    """Return the time of an adopted row, which is written in UTC."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) and _MOMENT.fullmatch(value) else None
    except ValueError:
        return None


def is_place(to: object, length: int) -> bool:
    """Return whether this is a place in a gallery of so many images."""
    return type(to) is int and 0 <= to < length
