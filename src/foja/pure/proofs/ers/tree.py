"""The hash tree of a batch (RFC 4998, 4.2): one root for many documents, and the path of each.

A leaf is a data object group: the document and a random file, its blinding. Its hash shows nothing about
the document to those who do not have the file, so the neighbours of a document learn no digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class HashTree:
    """The root of a batch, and for each leaf the hashes beside its way to the root, joined, lowest first."""

    root: bytes
    paths: Sequence[bytes]


def group_hash(digest: bytes, blinding: bytes, others: Iterable[bytes] = ()) -> bytes:
    """Return the leaf of a group: the hash of the sorted digests of a file, its blinding and the others."""
    return sha256(b"".join(sorted((digest, sha256(blinding).digest(), *others)))).digest()


def node_hash(one: bytes, other: bytes) -> bytes:
    """Return the hash of two hashes in ascending order."""
    return sha256(one + other if one < other else other + one).digest()


def build_tree(leaves: Sequence[bytes]) -> HashTree:
    """Return the tree over these leaves, one or more; a node without a neighbour moves up as it is."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        levels.append(_level_above(levels[-1]))
    paths = [b""]
    for level in reversed(levels[:-1]):
        paths = _paths_below(level, paths)
    return HashTree(levels[-1][0], paths)


def _level_above(level: Sequence[bytes]) -> list[bytes]:
    nodes = [node_hash(one, other) for one, other in zip(level[::2], level[1::2], strict=False)]
    return [*nodes, level[-1]] if len(level) % 2 else nodes


def _paths_below(level: Sequence[bytes], paths: Sequence[bytes]) -> list[bytes]:
    """Return the paths of a level, given those of the level above it: each shares the rest of its way."""
    found = list[bytes]()
    for one, other, path in zip(level[::2], level[1::2], paths, strict=False):
        found += (other + path, one + path)
    return [*found, paths[-1]] if len(level) % 2 else found
