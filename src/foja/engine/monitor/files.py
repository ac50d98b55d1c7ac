"""The files of one log: its entries, its tiles, and what they show of a tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from foja.engine.monitor.source import Source
from foja.errors import ObjectMissing, Tampered, Unavailable
from foja.pure.core import tiles
from foja.pure.core.merkle import EMPTY_ROOT, Frontier, check_consistency
from foja.pure.core.note import Checkpoint

_AHEAD = 16  # files that are asked for together


class LogFiles:
    """Reads the files of the log of this number."""

    def __init__(self, source: Source, number: int) -> None:
        self._source, self._number = source, number

    async def entries(self, low: int, high: int) -> AsyncIterator[list[bytes]]:
        """Yield the entries from `low` up to `high`, a file after the other."""
        width = tiles.WIDTH
        indexes = range(low // width, -(-high // width))
        for at in range(0, len(indexes), _AHEAD):
            some = indexes[at : at + _AHEAD]
            files = await asyncio.gather(*(self._bundle(each, high) for each in some))
            for index, entries in zip(some, files, strict=True):
                yield entries[max(0, low - index * width) :]

    async def has_prefix(self, seen: Checkpoint, size: int, root: bytes) -> bool:
        """Return whether the tree that was seen begins with this one, as the tiles of the log show."""
        if size in (0, seen.size):
            return root == (seen.root if size else EMPTY_ROOT)
        try:
            files = await self._tiles(tiles.consistency_tiles(size, seen.size))
            proof = tiles.prove_consistency(size, seen.size, files)
            check_consistency(size, root, seen.size, seen.root, proof)
        except (ObjectMissing, Tampered):
            return False
        return True

    async def frontier(self, size: int, tree: int) -> Frontier:
        """Return the edge of the first `size` leaves from the tiles of a larger tree, unverified."""
        try:
            return tiles.read_frontier(size, tree, await self._tiles(tiles.frontier_tiles(size, tree)))
        except (ObjectMissing, Tampered) as error:
            raise Unavailable(f"the hashes of log {self._number} cannot be read: {error}") from None

    async def _tiles(self, needed: Iterable[tiles.Tile]) -> dict[tiles.Tile, bytes]:
        whole = tiles.Tile
        return {each: await self._partial(each.path, whole(each.level, each.index).path) for each in needed}

    async def _bundle(self, index: int, size: int) -> list[bytes]:
        """Return the entries of one file up to this size of the log."""
        width = min(tiles.WIDTH, size - index * tiles.WIDTH)
        try:
            data = await self._partial(tiles.entries_path(index, width), tiles.entries_path(index))
            entries = tiles.decode_entries(data)
        except (ObjectMissing, Tampered) as error:
            raise Unavailable(f"the entries of log {self._number} cannot be read: {error}") from None
        if len(entries) < width:
            found = f"{len(entries)} in file {index}"
            raise Unavailable(f"the entries of log {self._number} are not complete: {found}")
        return entries[:width]

    async def _partial(self, path: str, whole: str) -> bytes:
        """Return a file; a log may delete a partial one when the whole one is there."""
        try:
            return await self._source.read(f"{self._number}/{path}")
        except ObjectMissing:
            if path == whole:
                raise
            return await self._source.read(f"{self._number}/{whole}")
