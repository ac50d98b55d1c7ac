"""Galleries and their images."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foja.web.reference.answers.answer import Answer


class ImageAnswer(Answer):
    """One image of a gallery at its place."""

    id: str
    order: int = Field(description="its place, from 0 on")
    main: bool = Field(description="whether it is the image at place 0")
    url: str = Field(description="`foja:sha256/…` for stored bytes, or an address elsewhere")
    alt: str | None
    created_at: str
    erased: bool
    media_type: str | None
    width: int | None
    height: int | None
    frames: int | None
    size: int | None
    name: str | None
    variants: dict[str, str] = Field(description="the address of each variant; it may be cached for ever")


class GalleryAnswer(Answer):
    """The images of a product, in order."""

    product_id: str
    next_seq: int = Field(description="the `expected_seq` of a change to exactly this")
    images: list[ImageAnswer]


class ProductId(Answer):
    """A product in a list."""

    id: str


class ProductPage(Answer):
    """Products, by id."""

    products: list[ProductId]
    next: str | None = Field(description="the address of those after them")


class RenderingAnswer(Answer):
    """How far the variants of an image are."""

    status: Literal["queued", "processing", "success", "error", "skipped"]
    attempts: int
    last_error: str | None
    duration_ms: int | None
    error_code: str | None
    skipped: str | None = Field(description="why nothing was rendered, if the job is done")
    spent: bool = Field(description="whether only force tries it again")


class RenderedCount(Answer):
    """How many images are rendered again."""

    images: int
