"""Images by their ids. Those that are asked for while a query runs are read together by the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from foja.engine.blobs.batch import Batch
from foja.engine.ledger.ledger import Ledger
from foja.pure.models.images.events import METADATA
from foja.pure.models.images.gallery import Image


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image as it is stored, and the body that holds its content."""

    product: UUID
    id: UUID
    order: int
    url: str
    alt: str | None
    created_at: datetime
    content_seq: int
    alt_seq: int | None
    body: Mapping[str, Any] | None
    thumbnails: Mapping[str, str] | None
    thumbnail_url: str | None
    signature: str | None
    next_seq: int = 0  # of its gallery; a gallery without images has one row with nothing else

    def image(self) -> Image:
        """Return it as the image of a gallery."""
        metadata = {name: self.body[name] for name in METADATA if self.body and name in self.body}
        return Image(
            self.id,
            self.order,
            self.url,
            self.alt,
            self.created_at,
            self.content_seq,
            self.alt_seq,
            metadata,
            self.thumbnails or {},
            self.thumbnail_url,
            self.signature,
        )


class ImageReads:
    """Reads the images of one tenant, over one connection at a time."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._batch = Batch(self._read, senders=1)

    async def find(self, product_id: UUID, image_id: UUID) -> Image | None:
        """Return an image as it is now; None if the product has no such image."""
        row = await self._batch.ask((product_id, image_id))
        return row.image() if row else None

    async def _read(self, wanted: Sequence[tuple[UUID, UUID]]) -> list[ImageRow | None]:
        rows = await self._ledger.ask("gallery_images", ImageRow, images=[image for _, image in wanted])
        known = {(row.product, row.id): row for row in rows}
        return [known.get(each) for each in wanted]
