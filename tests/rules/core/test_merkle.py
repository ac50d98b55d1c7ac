"""The tree, compared with RFC 6962 as written, pymerkle and sigstore; and forged proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree, verify_consistency, verify_inclusion
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore.errors import VerificationError

from foja.errors import Refused, Tampered
from foja.pure.core.merkle import (
    EMPTY_ROOT,
    Frontier,
    check_consistency,
    check_inclusion,
    consistency_proof,
    consistency_spans,
    cover,
    inclusion_proof,
    inclusion_spans,
    leaf_hash,
    node_hash,
)

MANY = 40
ENTRIES = [f"entry {index}".encode() for index in range(MANY)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
sizes = st.integers(1, MANY)

# Leaves and roots that certificate transparency implementations have tested with since 2012.
CT_ENTRIES = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def split(count: int) -> int:
    return 1 << (count - 1).bit_length() - 1


def mth(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962 §2.1, word for word."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node_hash(mth(leaves[:k]), mth(leaves[k:]))


def path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """RFC 6962 §2.1.1, word for word."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    return [*path(m, leaves[:k]), mth(leaves[k:])] if m < k else [*path(m - k, leaves[k:]), mth(leaves[:k])]


def subproof(m: int, leaves: Sequence[bytes], whole: bool) -> list[bytes]:
    """RFC 6962 §2.1.2, word for word."""
    if m == len(leaves):
        return [] if whole else [mth(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], False), mth(leaves[:k])]


def complete(level: int, index: int) -> bytes:
    """Return the hash of a complete subtree; a level or index beyond the tree fails the test."""
    start, end = index << level, (index + 1) << level
    assert end <= MANY
    return mth(LEAVES[start:end])


def root(size: int) -> bytes:
    return mth(LEAVES[:size])


def test_roots_known_to_every_implementation() -> None:
    leaves = [leaf_hash(bytes.fromhex(entry)) for entry in CT_ENTRIES]
    assert [Frontier().extend(leaves[:size]).root().hex() for size in range(9)] == CT_ROOTS


def test_a_frontier_grows_like_the_tree() -> None:
    frontier = Frontier()
    assert frontier.root() == EMPTY_ROOT
    for size, leaf in enumerate(LEAVES, start=1):
        frontier = frontier.extend([leaf])
        assert (frontier.size, frontier.root()) == (size, root(size))
        assert (
            frontier
            == Frontier().extend(LEAVES[:size])
            == Frontier(size, tuple(complete(*node) for node in cover(0, size)))
        )


@pytest.mark.parametrize("size", range(MANY + 1))
def test_a_frontier_survives_storage(size: int) -> None:
    frontier = Frontier().extend(LEAVES[:size])
    stored = frontier.encode()
    assert Frontier.decode(stored) == frontier
    for broken in (stored[:-1], stored + b"\0", stored + bytes(32), stored[8:]):
        with pytest.raises(Tampered):
            Frontier.decode(broken)


@pytest.mark.parametrize("size", range(1, MANY + 1))
def test_inclusion_is_the_path_of_the_rfc(size: int) -> None:
    for index in range(size):
        proof = inclusion_proof(index, size, complete)
        assert proof == path(index, LEAVES[:size])
        check_inclusion(LEAVES[index], index, size, proof, root(size))


@pytest.mark.parametrize("new_size", range(1, MANY + 1))
def test_consistency_is_the_proof_of_the_rfc(new_size: int) -> None:
    for old_size in range(1, new_size + 1):
        proof = consistency_proof(old_size, new_size, complete)
        assert proof == subproof(old_size, LEAVES[:new_size], True)
        check_consistency(old_size, root(old_size), new_size, root(new_size), proof)


def test_the_empty_tree_is_the_beginning_of_any() -> None:
    for new_size in (0, 1, 7):
        assert consistency_proof(0, new_size, complete) == []
        check_consistency(0, EMPTY_ROOT, new_size, root(new_size), [])


@given(sizes.flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_pymerkle_agrees_about_inclusion(place: tuple[int, int]) -> None:
    index, size = place
    tree = InmemoryTree.init_from_entries(ENTRIES, algorithm="sha256")
    theirs = tree.prove_inclusion(index + 1, size)
    assert tree.get_root(size) == root(size)
    assert theirs.path == [LEAVES[index], *inclusion_proof(index, size, complete)]
    verify_inclusion(LEAVES[index], root(size), theirs)


@given(sizes.flatmap(lambda size: st.tuples(st.integers(1, size), st.just(size))))
def test_pymerkle_agrees_about_consistency(growth: tuple[int, int]) -> None:
    old_size, new_size = growth
    tree = InmemoryTree.init_from_entries(ENTRIES, algorithm="sha256")
    verify_consistency(root(old_size), root(new_size), tree.prove_consistency(old_size, new_size))


def sigstore_entry(entry: bytes, index: int, size: int, proof: list[bytes], stated: bytes) -> Any:
    inclusion = SimpleNamespace(log_index=index, tree_size=size, hashes=proof, root_hash=stated)
    return SimpleNamespace(_inner=SimpleNamespace(inclusion_proof=inclusion, canonicalized_body=entry))


@given(sizes.flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_sigstore_accepts_our_inclusion_proofs(place: tuple[int, int]) -> None:
    index, size = place
    proof = inclusion_proof(index, size, complete)
    verify_merkle_inclusion(sigstore_entry(ENTRIES[index], index, size, proof, root(size)))
    with pytest.raises(VerificationError):
        verify_merkle_inclusion(sigstore_entry(b"forged", index, size, proof, root(size)))


def forgeries(proof: list[bytes]) -> list[list[bytes]]:
    """Return every proof one step away: longer, shorter, one hash changed, two swapped."""
    changed = [[*proof[:at], bytes(32), *proof[at + 1 :]] for at in range(len(proof))]
    short = [[*proof[:at], proof[at][:31], *proof[at + 1 :]] for at in range(len(proof))]
    swapped = [proof[::-1]] if proof != proof[::-1] else []
    cut = [proof[:-1], proof[1:]] if proof else []
    return [[*proof, bytes(32)], [bytes(32), *proof], [*proof, b""], *cut, *changed, *short, *swapped]


@given(sizes.flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_no_forged_inclusion_passes(place: tuple[int, int]) -> None:
    index, size = place
    proof = inclusion_proof(index, size, complete)
    for forged in forgeries(proof):
        with pytest.raises(Tampered):
            check_inclusion(LEAVES[index], index, size, forged, root(size))
    for leaf, stated in ((bytes(32), root(size)), (LEAVES[index], bytes(32)), (LEAVES[index], b"")):
        with pytest.raises(Tampered):
            check_inclusion(leaf, index, size, proof, stated)


@given(st.integers(2, MANY).flatmap(lambda size: st.tuples(st.integers(1, size - 1), st.just(size))))
def test_no_forged_consistency_passes(growth: tuple[int, int]) -> None:
    old_size, new_size = growth
    proof = consistency_proof(old_size, new_size, complete)
    for forged in forgeries(proof):
        with pytest.raises(Tampered):
            check_consistency(old_size, root(old_size), new_size, root(new_size), forged)
    for old, new in ((bytes(32), root(new_size)), (root(old_size), bytes(32)), (root(old_size), b"")):
        with pytest.raises(Tampered):
            check_consistency(old_size, old, new_size, new, proof)


def test_the_refusal_of_a_forged_proof_names_the_fault() -> None:
    proof = inclusion_proof(2, 5, complete)
    wrong = {"too long": [*proof, bytes(32)], "too short": proof[:-1], "bytes long": [*proof[:-1], bytes(31)]}
    for reason, forged in wrong.items():
        with pytest.raises(Tampered, match=reason):
            check_inclusion(LEAVES[2], 2, 5, forged, root(5))


@given(sizes, st.integers(0, MANY), st.integers(0, MANY))
def test_a_proof_is_for_one_place_only(size: int, index: int, other: int) -> None:
    index, other = index % size, other % size
    proof = inclusion_proof(index, size, complete)
    if index != other:
        with pytest.raises(Tampered):
            check_inclusion(LEAVES[index], other, size, proof, root(size))


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 5), (5, 5), (7, 3)])
def test_no_leaf_beyond_the_end(index: int, size: int) -> None:
    with pytest.raises(Tampered, match="cannot be in a tree"):
        check_inclusion(LEAVES[0], index, size, [], LEAVES[0])
    with pytest.raises(Refused):
        inclusion_spans(index, size)


@pytest.mark.parametrize(("old_size", "new_size"), [(3, 2), (-1, 5), (1, 0), (-2, -1)])
def test_a_tree_never_shrinks(old_size: int, new_size: int) -> None:
    with pytest.raises(Tampered, match="cannot follow"):
        check_consistency(old_size, LEAVES[0], new_size, LEAVES[0], [])
    with pytest.raises(Refused):
        consistency_spans(old_size, new_size)


@pytest.mark.parametrize(
    ("old_size", "old", "new_size", "new", "proof"),
    [
        (0, LEAVES[0], 5, root(5), []),
        (0, EMPTY_ROOT, 5, root(5), [LEAVES[0]]),
        (0, EMPTY_ROOT, 0, LEAVES[0], []),
        (0, LEAVES[0], 0, LEAVES[0], []),
        (5, root(5), 5, root(4), []),
        (5, root(5), 5, root(5), [LEAVES[0]]),
        (3, root(3), 5, root(5), []),
        (4, root(4), 5, root(5), []),
    ],
)
def test_trivial_growth_is_checked_too(
    old_size: int, old: bytes, new_size: int, new: bytes, proof: list[bytes]
) -> None:
    with pytest.raises(Tampered):
        check_consistency(old_size, old, new_size, new, proof)


def counted(reads: list[tuple[int, int]]) -> Callable[[int, int], bytes]:
    def hash_at(level: int, index: int) -> bytes:
        reads.append((level, index))
        return bytes(32)

    return hash_at


@given(st.integers(1, 2**60).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_proofs_of_huge_trees_read_few_complete_subtrees(place: tuple[int, int]) -> None:
    index, size = place
    reads: list[tuple[int, int]] = []
    inclusion_proof(index, size, counted(reads))
    consistency_proof(index + 1, size, counted(reads))
    assert len(reads) <= 4 * size.bit_length()
    assert all((at + 1) << level <= size for level, at in reads)


@given(st.integers(0, 2**40))
def test_cover_is_gapless(size: int) -> None:
    end = 0
    for level, index in cover(0, size):
        assert index << level == end
        end += 1 << level
    assert end == size
