"""Compare the files of a log in the store with the leaves in the database."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from foja.engine.blobs.store import Store
from foja.engine.observe.fsck.context import CheckContext
from foja.engine.observe.logs import LogState
from foja.errors import ObjectMissing, Tampered
from foja.pure.core import tiles
from foja.pure.core.merkle import leaf_hash

Name = tuple[UUID, int]


def event_of(entry: bytes) -> Name:
    """Return the stream and the number in an entry of the log."""
    return UUID(bytes=entry[1:17]), int.from_bytes(entry[17:25], "big")


class TileCheck:
    """Rebuilds the published files from the leaves. It holds only incomplete files in memory."""

    def __init__(self, context: CheckContext, log: LogState) -> None:
        self._store, self._findings, self._log = context.outside.store, context.findings, log
        self._size = 0
        self._edges: dict[tiles.Tile, bytes] = {}
        self._entries: list[bytes] = []

    async def grow(self, entries: Sequence[bytes]) -> None:
        """Compare every file that these leaves complete."""
        grown = tiles.grow(self._size, [leaf_hash(entry) for entry in entries], self._edges)
        self._size += len(entries)
        for tile, data in grown.items():
            if tile.width == tiles.WIDTH:
                await self._compare(tile.path, data)
        every = self._edges | grown
        self._edges = {tile: every[tile] for tile in tiles.edge_tiles(self._size)}
        await self._compare_bundles(entries)

    async def end(self) -> None:
        """Compare the files that are not full at the published size."""
        for tile, data in self._edges.items():
            await self._compare(tile.path, data)
        if self._entries:
            await self._compare_bundle(self._size // tiles.WIDTH, self._entries)

    async def _compare_bundles(self, entries: Sequence[bytes]) -> None:
        start = self._size - len(entries) - len(self._entries)
        self._entries += entries
        while len(self._entries) >= tiles.WIDTH:
            await self._compare_bundle(start // tiles.WIDTH, self._entries[: tiles.WIDTH])
            del self._entries[: tiles.WIDTH]
            start += tiles.WIDTH

    async def _compare(self, path: str, data: bytes) -> None:
        self._findings.counts["tiles"] += 1
        stored = await read(self._store, self._log, path)
        if stored != data:
            self._findings.add("tile", expected=f"{path} with the leaf hashes", found=_state(stored))

    async def _compare_bundle(self, index: int, entries: Sequence[bytes]) -> None:
        path = tiles.entries_path(index, len(entries))
        self._findings.counts["tiles"] += 1
        stored = await read(self._store, self._log, path)
        if stored != tiles.encode_entries(entries):
            entity_id, seq = first_difference(entries, stored) or event_of(entries[0])
            expected = f"{path} with the leaves in the database"
            self._findings.add("tile", expected=expected, found=_state(stored), entity_id=entity_id, seq=seq)


async def read(store: Store, log: LogState, path: str) -> bytes | None:
    """Return a file of the log, or None if it is missing."""
    try:
        return (await store.read(log.path(path))).data
    except ObjectMissing:
        return None


def first_difference(entries: Sequence[bytes], bundle: bytes | None) -> Name | None:
    """Return the first event that differs in a stored bundle."""
    try:
        stored = tiles.decode_entries(bundle or b"")
    except Tampered:
        return None
    pairs = zip(entries, stored, strict=False)
    return next((event_of(ours) for ours, theirs in pairs if ours != theirs), None)


def _state(stored: bytes | None) -> str:
    return "no file" if stored is None else "other bytes"
