"""The tree of a batch agrees with the log's tree and with the judge, and is built in one pass."""

from __future__ import annotations

from hashlib import sha256
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentimestamps.core.timestamp import Timestamp, make_merkle_tree

from foja.engine.anchors.batch import Places, hash_leaves, places_of, root_of, tree_of
from foja.errors import Refused
from foja.pure.core.merkle import Frontier, check_inclusion, leaf_hash


def digests(count: int) -> list[bytes]:
    return [sha256(b"%d" % number).digest() for number in range(count)]


def salts(count: int) -> list[bytes]:
    return [sha256(b"salt %d" % number).digest()[:16] for number in range(count)]


@given(st.integers(1, 130))
def test_every_place_leads_to_the_root_of_the_tree_of_rfc_6962(size: int) -> None:
    own, salted = digests(size), salts(size)
    leaves = hash_leaves(own, salted)
    root = root_of("polygon", own, leaves)
    assert root == Frontier().extend(leaves).root()
    stored, kept = b"".join(leaves), b"".join(salted)
    tree = Places(stored, kept)
    for place in places_of(own, stored, kept):
        leaf = leaf_hash(place.salt + place.digest)
        check_inclusion(leaf, place.index, place.size, place.path, root)
        assert place == tree.of(own[place.index], place.index)
    assert tree_of(leaves).root == root


def test_a_batch_of_one_in_rekor_is_the_digest_itself() -> None:
    [digest], [salt] = digests(1), salts(1)
    leaves = hash_leaves([digest], [salt])
    assert root_of("rekor", [digest], leaves) == digest
    assert root_of("polygon", [digest], leaves) == leaf_hash(salt + digest)
    assert root_of("rekor", digests(2), hash_leaves(digests(2), salts(2))) not in digests(2)


def test_what_is_not_in_the_batch_has_no_place() -> None:
    own, salted = digests(3), salts(3)
    stored, kept = b"".join(hash_leaves(own, salted)), b"".join(salted)
    for index, leaves, short in ((3, stored, kept), (-1, stored, kept), (0, stored, kept[:-1])):
        with pytest.raises(Refused):
            Places(leaves, short).of(own[0], index)
    with pytest.raises(Refused, match="at least one"):
        tree_of([])
    with pytest.raises(Refused, match="salt of 16"):
        hash_leaves(own, [salt[:8] for salt in salted])


def test_a_tree_with_all_paths_takes_no_longer_than_that_of_opentimestamps() -> None:
    own, salted = digests(10_000), salts(10_000)

    def ours() -> object:
        return tree_of(hash_leaves(own, salted))

    def theirs() -> object:
        return make_merkle_tree([Timestamp(digest) for digest in own])

    assert min(timed(ours) for _ in range(3)) <= min(timed(theirs) for _ in range(3))


def timed(work: object) -> float:
    began = perf_counter()
    work()  # type: ignore[operator]
    return perf_counter() - began
