"""The files of the tree: c2sp.org/tlog-tiles, 256 hashes per tile.

Tile level L holds the hashes of complete subtrees of 256**L leaves. A tile that is not
full yet has its width in its name, so no file ever changes once it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from foja.errors import Refused, Tampered
from foja.pure.core.merkle import (
    HASH_BYTES,
    Frontier,
    HashAt,
    Span,
    consistency_proof,
    consistency_spans,
    cover,
    inclusion_proof,
    inclusion_spans,
    node_hash,
)

HEIGHT = 8
WIDTH = 1 << HEIGHT
_LONGEST_ENTRY = 0xFFFF


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    """The name of one tile: which hashes, and how many of them."""

    level: int
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """The path of the tile, relative to the log's address."""
        return f"tile/{self.level}/{_number_path(self.index)}{_width_path(self.width)}"


def entries_path(index: int, width: int = WIDTH) -> str:
    """Return the path of the entries of a level 0 tile."""
    return f"tile/entries/{_number_path(index)}{_width_path(width)}"


def edge_tiles(size: int) -> list[Tile]:
    """Return the partial tiles of a tree: all that growing it has to read."""
    edges = [_tile_at(level, _count(level, size) // WIDTH, size) for level in _levels(size)]
    return [tile for tile in edges if tile.width]


def grow(size: int, leaves: Sequence[bytes], edges: Mapping[Tile, bytes]) -> dict[Tile, bytes]:
    """Return the bytes of every new tile once these leaf hashes are appended."""
    grown: dict[Tile, bytes] = {}
    level, hashes = 0, list(leaves)
    while hashes:
        tiles = _grow_level(level, size, hashes, edges)
        grown |= tiles
        hashes = [_row_root(data) for tile, data in tiles.items() if tile.width == WIDTH]
        level += 1
    return grown


def locate(level: int, index: int) -> tuple[int, int, int, int]:
    """Return the location of a complete subtree: tile level, tile, offset, number of hashes."""
    tile_level, above = divmod(level, HEIGHT)
    tile_index, offset = divmod(index << above, WIDTH)
    return tile_level, tile_index, offset, 1 << above


def inclusion_tiles(index: int, size: int) -> list[Tile]:
    """Return the tiles that `prove_inclusion` will read."""
    return _tiles_under(inclusion_spans(index, size), size)


def consistency_tiles(old_size: int, new_size: int) -> list[Tile]:
    """Return the tiles that `prove_consistency` will read."""
    return _tiles_under(consistency_spans(old_size, new_size), new_size)


def prove_inclusion(index: int, size: int, tiles: Mapping[Tile, bytes]) -> list[bytes]:
    """Return the inclusion proof from the tiles it needs."""
    return inclusion_proof(index, size, hash_reader(size, tiles))


def prove_consistency(old_size: int, new_size: int, tiles: Mapping[Tile, bytes]) -> list[bytes]:
    """Return the consistency proof from the tiles it needs."""
    return consistency_proof(old_size, new_size, hash_reader(new_size, tiles))


def frontier_tiles(size: int, tree: int) -> list[Tile]:
    """Return the tiles of a tree of `tree` leaves that `read_frontier` will read."""
    return _tiles_under([(0, size)], tree)


def read_frontier(size: int, tree: int, tiles: Mapping[Tile, bytes]) -> Frontier:
    """Return the frontier of the first `size` leaves from the tiles of a tree of `tree` leaves."""
    hash_at = hash_reader(tree, tiles)
    return Frontier(size, tuple(hash_at(*node) for node in cover(0, size)))


def hash_reader(size: int, tiles: Mapping[Tile, bytes]) -> HashAt:
    """Return `hash_at` over the tiles of a tree of this size. It computes every hash once.

    The bytes may be those of a later, wider tile: a log may delete the narrow ones.
    """

    @cache
    def hash_at(level: int, index: int) -> bytes:
        if level % HEIGHT:
            return node_hash(hash_at(level - 1, 2 * index), hash_at(level - 1, 2 * index + 1))
        tile_index, offset = divmod(index, WIDTH)
        data = _tile_bytes(_tile_at(level // HEIGHT, tile_index, size), tiles)
        return data[offset * HASH_BYTES : (offset + 1) * HASH_BYTES]

    return hash_at


def encode_entries(entries: Iterable[bytes]) -> bytes:
    """Return entries as one bundle, each preceded by its length in two bytes."""
    return b"".join(map(_encode_entry, entries))


def decode_entries(data: bytes) -> list[bytes]:
    """Return the entries of a bundle, or raise `Tampered`."""
    entries, at = [], 0
    while at < len(data):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        entries.append(data[start:at])
    if at > len(data):
        raise Tampered("an entry bundle ends in the middle of an entry; fetch it again")
    return entries


def _encode_entry(entry: bytes) -> bytes:
    if len(entry) > _LONGEST_ENTRY:
        raise Refused(f"a log entry has {len(entry)} bytes; at most {_LONGEST_ENTRY} are allowed")
    return len(entry).to_bytes(2, "big") + entry


def _grow_level(
    level: int, size: int, hashes: Sequence[bytes], edges: Mapping[Tile, bytes]
) -> dict[Tile, bytes]:
    index, width = divmod(_count(level, size), WIDTH)
    start = _tile_bytes(Tile(level, index, width), edges)[: width * HASH_BYTES] if width else b""
    row = start + b"".join(hashes)
    step = WIDTH * HASH_BYTES
    pieces = [row[at : at + step] for at in range(0, len(row), step)]
    return {Tile(level, index + n, len(piece) // HASH_BYTES): piece for n, piece in enumerate(pieces)}


def _tiles_under(spans: Iterable[Span], size: int) -> list[Tile]:
    nodes = chain.from_iterable(cover(*span) for span in spans)
    locations = {locate(*node)[:2] for node in nodes}
    return sorted(_tile_at(level, index, size) for level, index in locations)


def _tile_bytes(tile: Tile, tiles: Mapping[Tile, bytes]) -> bytes:
    data = tiles.get(tile)
    if data is None:
        raise Refused(f"{tile.path} is needed; read it first")
    if len(data) < tile.width * HASH_BYTES:
        raise Tampered(f"{tile.path} has {len(data)} bytes, too short for {tile.width} hashes")
    return data


def _tile_at(level: int, index: int, size: int) -> Tile:
    return Tile(level, index, min(WIDTH, _count(level, size) - index * WIDTH))


def _count(level: int, size: int) -> int:
    """Return how many hashes a tile level holds in a tree of this size."""
    return size >> HEIGHT * level


def _levels(size: int) -> range:
    return range(-(-size.bit_length() // HEIGHT))


def _row_root(row: bytes) -> bytes:
    """Return the root above a complete row of hashes."""
    return Frontier().extend(row[at : at + HASH_BYTES] for at in range(0, len(row), HASH_BYTES)).root()


def _number_path(number: int) -> str:
    *above, last = f"{number:,}".split(",")
    return "".join(f"x{part:0>3}/" for part in above) + f"{last:0>3}"


def _width_path(width: int) -> str:
    return "" if width == WIDTH else f".p/{width}"
