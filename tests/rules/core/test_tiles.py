"""Tiles: the names of the specification, and the same proofs as the tree itself."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foja.errors import Refused, Tampered
from foja.pure.core.merkle import (
    Frontier,
    check_consistency,
    check_inclusion,
    cover,
    inclusion_spans,
    leaf_hash,
)
from foja.pure.core.tiles import (
    Tile,
    consistency_tiles,
    decode_entries,
    edge_tiles,
    encode_entries,
    entries_path,
    grow,
    hash_reader,
    inclusion_tiles,
    locate,
    prove_consistency,
    prove_inclusion,
)

MANY = 70_000
LEAVES = [leaf_hash(index.to_bytes(4, "big")) for index in range(MANY)]
sizes = st.integers(1, 1500) | st.sampled_from([256, 257, 512, 65_535, 65_536, 65_537, MANY])


@cache
def written(size: int) -> dict[Tile, bytes]:
    return grow(0, LEAVES[:size], {})


@cache
def root(size: int) -> bytes:
    return Frontier().extend(LEAVES[:size]).root()


def only(tiles: list[Tile], size: int) -> dict[Tile, bytes]:
    return {tile: written(size)[tile] for tile in tiles}


def new_tiles(old_size: int, new_size: int) -> list[Tile]:
    """Return the tiles to write when a tree grows, by counting: what `grow` must give."""
    counts = [(level, old_size >> 8 * level, new_size >> 8 * level) for level in range(9)]
    return [
        Tile(level, index, min(256, new - index * 256))
        for level, old, new in counts
        if old < new
        for index in range(old // 256, -(-new // 256))
    ]


def test_paths_of_the_specification() -> None:
    assert Tile(0, 1234067).path == "tile/0/x001/x234/067"
    assert Tile(1, 0).path == "tile/1/000"
    assert Tile(2, 999, 7).path == "tile/2/999.p/7"
    assert Tile(0, 1000, 255).path == "tile/0/x001/000.p/255"
    assert entries_path(1234067, 8) == "tile/entries/x001/x234/067.p/8"
    assert entries_path(273) == "tile/entries/273"
    assert Tile(0, 5, 3).path == "tile/0/005.p/3"


def test_the_seventy_thousand_of_the_specification() -> None:
    tiles = new_tiles(0, 70_000)
    assert Counter((tile.level, tile.width) for tile in tiles) == {
        (0, 256): 273,
        (0, 112): 1,
        (1, 256): 1,
        (1, 17): 1,
        (2, 1): 1,
    }
    assert new_tiles(0, 256) == [Tile(0, 0), Tile(1, 0, 1)]
    assert edge_tiles(256) == [Tile(1, 0, 1)]
    assert new_tiles(0, 0) == edge_tiles(0) == []


def test_growing_from_nothing_writes_every_tile() -> None:
    tiles = written(MANY)
    assert sorted(tiles) == sorted(new_tiles(0, MANY))
    assert all(len(data) == tile.width * 32 for tile, data in tiles.items())
    assert tiles[Tile(0, 0)] == b"".join(LEAVES[:256])
    assert tiles[Tile(1, 0)][:32] == root(256)
    assert tiles[Tile(2, 0, 1)] == root(65_536)


@given(st.integers(0, 1200), st.integers(0, 600))
@settings(max_examples=60, deadline=None)
def test_growing_in_steps_writes_the_same(size: int, more: int) -> None:
    edges = only(edge_tiles(size), size)
    grown = grow(size, LEAVES[size : size + more], edges)
    assert sorted(grown) == sorted(new_tiles(size, size + more))
    assert grown == {tile: written(size + more)[tile] for tile in grown}


@pytest.mark.parametrize(("size", "more"), [(65_535, 1), (65_536, 1), (65_300, 300), (69_999, 1)])
def test_growing_over_a_level(size: int, more: int) -> None:
    grown = grow(size, LEAVES[size : size + more], only(edge_tiles(size), size))
    assert sorted(grown) == sorted(new_tiles(size, size + more))
    assert grown == {tile: written(size + more)[tile] for tile in grown}


@given(st.integers(0, 10**12), st.integers(0, 10**5))
def test_a_tile_is_written_once(size: int, more: int) -> None:
    tiles = new_tiles(size, size + more)
    assert len(set(tiles)) == len(tiles)
    assert all(1 <= tile.width <= 256 for tile in tiles)
    assert not set(tiles) & set(edge_tiles(size))
    assert set(edge_tiles(size + more)) <= set(tiles) | set(edge_tiles(size))


@given(sizes, st.integers(0, MANY))
@settings(deadline=None)
def test_inclusion_from_exactly_the_needed_tiles(size: int, index: int) -> None:
    index %= size
    tiles = only(inclusion_tiles(index, size), size)
    check_inclusion(LEAVES[index], index, size, prove_inclusion(index, size, tiles), root(size))
    for tile in tiles:
        with pytest.raises(Refused, match=tile.path):
            prove_inclusion(index, size, {other: tiles[other] for other in tiles if other != tile})


@given(sizes, st.integers(0, MANY))
@settings(deadline=None)
def test_consistency_from_exactly_the_needed_tiles(size: int, old_size: int) -> None:
    old_size %= size + 1
    tiles = only(consistency_tiles(old_size, size), size)
    proof = prove_consistency(old_size, size, tiles)
    check_consistency(old_size, root(old_size), size, root(size), proof)


@given(sizes)
@settings(deadline=None)
def test_the_root_from_few_tiles(size: int) -> None:
    nodes = cover(0, size)
    needed = {locate(*node)[:2] for node in nodes}
    assert len(needed) <= 2 * 3
    hash_at = hash_reader(
        size, only([tile for tile in written(size) if (tile.level, tile.index) in needed], size)
    )
    assert Frontier(size, tuple(hash_at(*node) for node in nodes)) == Frontier().extend(LEAVES[:size])


@given(st.integers(1, 2**50).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_a_proof_in_a_huge_log_needs_few_tiles(place: tuple[int, int]) -> None:
    tiles = inclusion_tiles(*place)
    assert len(tiles) <= 2 * 7
    assert len({tile.path for tile in tiles}) == len(tiles)


@given(st.integers(1, 2**50).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_a_subtree_lies_inside_one_tile_that_exists(place: tuple[int, int]) -> None:
    index, size = place
    for span in inclusion_spans(index, size):
        for node in cover(*span):
            level, tile, offset, count = locate(*node)
            assert offset % count == 0
            assert offset + count <= 256
            assert tile * 256 + offset + count <= size >> 8 * level


def test_locate_returns_level_tile_offset_and_width() -> None:
    assert locate(0, 300) == (0, 1, 44, 1)
    assert locate(3, 33) == (0, 1, 8, 8)
    assert locate(8, 300) == (1, 1, 44, 1)
    assert locate(7, 1) == (0, 0, 128, 128)


def test_a_later_wider_tile_serves_as_well() -> None:
    wide = {tile: written(1500)[Tile(tile.level, tile.index)] for tile in inclusion_tiles(3, 200)}
    check_inclusion(LEAVES[3], 3, 200, prove_inclusion(3, 200, wide), root(200))


def test_a_tile_cut_short_is_tampering() -> None:
    tiles = {tile: data[:-1] for tile, data in only(inclusion_tiles(3, 200), 200).items()}
    with pytest.raises(Tampered, match="too short"):
        prove_inclusion(3, 200, tiles)
    with pytest.raises(Tampered, match="too short"):
        grow(200, LEAVES[200:201], {Tile(0, 0, 200): b""})


def test_growing_needs_the_edge() -> None:
    with pytest.raises(Refused, match=r"tile/0/000\.p/200 is needed"):
        grow(200, LEAVES[200:201], {})


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_entries_read_back(entries: list[bytes]) -> None:
    assert decode_entries(encode_entries(entries)) == entries


def test_entries_as_the_specification_has_them() -> None:
    assert encode_entries([b"ab", b"", b"c" * 258]) == b"\0\x02ab" + b"\0\0" + b"\x01\x02" + b"c" * 258
    assert decode_entries(encode_entries([bytes(65_535)])) == [bytes(65_535)]
    with pytest.raises(Refused, match="65535"):
        encode_entries([bytes(65_536)])


@pytest.mark.parametrize("data", [b"\0", b"\0\x01", b"\0\x02a", b"\0\0\0", b"\xff\xff"])
def test_a_bundle_cut_short_is_tampering(data: bytes) -> None:
    with pytest.raises(Tampered):
        decode_entries(data)
