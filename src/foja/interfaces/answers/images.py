"""What is answered about galleries and their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from foja.interfaces.answers.streams import StreamId
from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class ImageView:
    """One image of a gallery at its place."""

    id: UUID
    order: Annotated[int, "its place, from 0 on"]
    main: Annotated[bool, "whether it is the image at place 0"]
    url: Annotated[str, "`foja:sha256/…` for stored bytes, or an address elsewhere"]
    alt: str | None
    created_at: datetime
    erased: bool
    media_type: str | None
    width: int | None
    height: int | None
    frames: int | None
    size: int | None
    name: str | None
    variants: Annotated[Mapping[str, str], "the address of each variant; it may be cached for ever"]

    @property
    def raw(self) -> Mapping[str, Any]:
        """The whole answer, as JSON has it."""
        return {**asdict(self), "id": str(self.id), "created_at": self.created_at.isoformat()}


@dataclass(frozen=True, slots=True)
class ImageList(Rows[ImageView]):
    """The images of a product, in order."""

    images: list[ImageView]
    product_id: UUID
    next_seq: Annotated[int, "the `expected_seq` of a change to exactly this"]


@dataclass(frozen=True, slots=True)
class ProductPage(Rows[StreamId]):
    """Products, by id."""

    by = "after"

    products: list[StreamId]
    next: Annotated[UUID | None, "the last id, if there may be more"]


@dataclass(frozen=True, slots=True)
class RenderedCount:
    """How many images are rendered again."""

    images: int
