"""Images by their ids. Those that are asked for while a query runs are read together by the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from uuid import UUID

from foja.blobs.batch import Batch
from foja.ledger.ledger import Ledger

Row: TypeAlias = tuple[Any, ...]  # without the id of the product


class ImageReads:
    """Reads the images of one tenant, over one connection at a time."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._batch = Batch(self._read, senders=1)

    async def find(self, product_id: UUID, image_id: UUID) -> Row | None:
        """Return the row of an image as it is now; None if the product has no such image."""
        return await self._batch.ask((product_id, image_id))

    async def _read(self, wanted: Sequence[tuple[UUID, UUID]]) -> list[Row | None]:
        rows = await self._ledger.ask("gallery_images", images=[image for _, image in wanted])
        known = {(product, columns[0]): tuple(columns) for product, *columns in rows}
        return [known.get(each) for each in wanted]
