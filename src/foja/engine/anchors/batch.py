"""The tree of a batch: one root for many digests, and the place of each digest under it.

RFC 6962, as the log's. A leaf is the hash of a salt of 16 bytes and the digest, so that the path of one
digest tells nothing about its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from foja.engine.anchors.network import Place
from foja.errors import Refused
from foja.pure.core.merkle import HASH_BYTES

SALT_BYTES: Final = 16
PLAIN_SINGLES: Final = frozenset({"rekor"})  # here the root of a batch of one is its digest
Level: TypeAlias = list[bytes]


def hash_leaves(digests: Sequence[bytes], salts: Sequence[bytes]) -> list[bytes]:
    """Return the leaf hash of each digest, with its own salt."""
    for salt, digest in zip(salts, digests, strict=True):
        if len(salt) != SALT_BYTES or len(digest) != HASH_BYTES:
            raise Refused(
                f"a leaf needs a salt of {SALT_BYTES} bytes and a digest of {HASH_BYTES}, "
                f"not {len(salt)} and {len(digest)}"
            )
    return [sha256(b"\x00" + salt + digest).digest() for salt, digest in zip(salts, digests, strict=True)]


def root_of(network: str, digests: Sequence[bytes], leaves: Sequence[bytes]) -> bytes:
    """Return what a network anchors for these digests."""
    if network in PLAIN_SINGLES and len(digests) == 1:
        return digests[0]
    return _levels(leaves)[-1][0]


class Tree(NamedTuple):
    """The root of some leaves, and the path of each leaf to it."""

    root: bytes
    paths: Sequence[tuple[bytes, ...]]


def tree_of(leaves: Sequence[bytes]) -> Tree:
    """Return the root and all paths. Each inner node is hashed once."""
    levels = _levels(leaves)
    paths: list[tuple[bytes, ...]] = [()]
    for level in reversed(levels[:-1]):
        last, above = len(level) - 1, paths
        # A node without a right neighbour is its own parent: it has the same path.
        paths = [
            (level[at ^ 1], *above[at >> 1]) if at ^ 1 <= last else above[at >> 1] for at in range(last + 1)
        ]
    return Tree(levels[-1][0], paths)


class Places:
    """The tree of a stored batch, which gives the place of any of its digests. Read once, asked often."""

    def __init__(self, leaves: bytes, salts: bytes) -> None:
        self.size, self._salts = len(leaves) // HASH_BYTES, salts
        if len(leaves) != self.size * HASH_BYTES or len(salts) != self.size * SALT_BYTES:
            raise Refused(
                f"{len(leaves)} bytes of leaves and {len(salts)} of salts are not a batch; read it again"
            )
        # One object per level, not one per node: many batches can be kept.
        self._levels = [b"".join(level) for level in _levels(split(leaves, HASH_BYTES))[:-1]]

    def of(self, digest: bytes, index: int) -> Place:
        """Return the place of the digest that is this leaf."""
        if not 0 <= index < self.size:
            raise Refused(f"digest {index} is not in a batch of {self.size}; read the batch again")
        path, at = list[bytes](), index
        for level in self._levels:
            start = (at ^ 1) * HASH_BYTES
            if start < len(level):
                path.append(level[start : start + HASH_BYTES])
            at >>= 1
        salt = self._salts[index * SALT_BYTES : (index + 1) * SALT_BYTES]
        return Place(digest, salt, index, self.size, tuple(path))


def places_of(digests: Sequence[bytes], leaves: bytes, salts: bytes) -> list[Place]:
    """Return the places of all digests of a batch."""
    size, own = len(digests), split(salts, SALT_BYTES)
    paths = tree_of(split(leaves, HASH_BYTES)).paths
    return [Place(digests[at], own[at], at, size, paths[at]) for at in range(size)]


def split(data: bytes, width: int) -> list[bytes]:
    """Return the parts of equal width that were stored one after another."""
    return [data[at : at + width] for at in range(0, len(data), width)]


def _levels(leaves: Sequence[bytes]) -> list[Level]:
    """Return the nodes of the tree, from the leaves to the root; a node without a neighbour rises."""
    if not leaves:
        raise Refused("a batch needs at least one digest")
    levels = [list(leaves)]
    while len(below := levels[-1]) > 1:
        level = [sha256(b"\x01" + a + b).digest() for a, b in zip(below[::2], below[1::2], strict=False)]
        levels.append(level + below[len(below) & ~1 :])
    return levels
