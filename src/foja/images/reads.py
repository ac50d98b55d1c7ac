"""Images by their ids. Those that are asked for while a query runs are read together by the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeAlias
from uuid import UUID

from foja.ledger.ledger import Ledger

Row: TypeAlias = tuple[Any, ...]  # without the id of the product


class ImageReads:
    """Reads the images of one tenant, over one connection at a time."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: list[tuple[UUID, UUID, asyncio.Future[Row | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def find(self, product_id: UUID, image_id: UUID) -> Row | None:
        """Return the row of an image as it is now; None if the product has no such image."""
        found: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((product_id, image_id, found))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read())
        return await found

    async def _read(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                rows = await self._ledger.ask("gallery_images", images=[image for _, image, _ in batch])
            except BaseException as error:
                for _, _, found in batch:
                    if not found.done():
                        found.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            _answer(batch, rows)


def _answer(
    batch: Sequence[tuple[UUID, UUID, asyncio.Future[Row | None]]], rows: Sequence[tuple[Any, ...]]
) -> None:
    known = {(product, row[0]): row for product, *columns in rows for row in [tuple(columns)]}
    for product, image, found in batch:
        if not found.done():
            found.set_result(known.get((product, image)))
