"""The log's tree: RFC 6962 hashes, proofs, and their checks (RFC 9162 §2.1).

Proofs are made from the hashes of *complete* subtrees, named by (level, index): level 0
holds the leaves, and each level above pairs the one below. Such a hash never changes
once it exists, so any store of them will do, and a proof reads O(log n) of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from foja.errors import Refused, Tampered
from foja.pure.core.event import u64

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()

Node: TypeAlias = tuple[int, int]
Span: TypeAlias = tuple[int, int]
HashAt: TypeAlias = Callable[[int, int], bytes]


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf; its prefix distinguishes it from an inner node."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node above two others."""
    return sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """All that a growing tree has to store: the hashes of its complete subtrees, widest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    @classmethod
    def decode(cls, data: bytes) -> Frontier:
        """Return the frontier that `encode` wrote, or raise `Tampered`."""
        size = int.from_bytes(data[:8], "big")
        if len(data) != 8 + HASH_BYTES * size.bit_count():
            raise Tampered(f"not a frontier of {size} leaves: {len(data)} bytes; rebuild it from the leaves")
        return cls(size, tuple(data[at : at + HASH_BYTES] for at in range(8, len(data), HASH_BYTES)))

    def encode(self) -> bytes:
        """Return the size and the hashes as bytes to store."""
        return u64(self.size) + b"".join(self.hashes)

    def extend(self, leaves: Iterable[bytes]) -> Frontier:
        """Return the frontier with these leaf hashes after its own; this one does not change."""
        size, hashes = self.size, list(self.hashes)
        for leaf in leaves:
            hashes.append(leaf)
            size += 1
            for _ in range(_trailing_zeros(size)):
                right = hashes.pop()
                hashes[-1] = node_hash(hashes[-1], right)
        return Frontier(size, tuple(hashes))

    def root(self) -> bytes:
        """Return the root of the tree."""
        return _fold(self.hashes) if self.hashes else EMPTY_ROOT


def cover(start: int, end: int) -> list[Node]:
    """Return the complete subtrees that make up a span of the tree, in order."""
    nodes = []
    while start < end:
        level = (end - start).bit_length() - 1
        nodes.append((level, start >> level))
        start += 1 << level
    return nodes


def inclusion_spans(index: int, size: int) -> list[Span]:
    """Return the spans of leaves whose hashes are the proof, leaf upwards."""
    if not 0 <= index < size:
        raise Refused(f"leaf {index} is not in a tree of {size} leaves; ask for one below {size}")
    _, beside = _descend(index, size, lambda start, end: end - start == 1)
    return beside


def consistency_spans(old_size: int, new_size: int) -> list[Span]:
    """Return the spans of leaves whose hashes are the proof, in its order."""
    if not 0 <= old_size <= new_size:
        raise Refused(f"a tree of {new_size} leaves never had {old_size} leaves; ask for a smaller size")
    if old_size == 0:
        return []
    reached, beside = _descend(old_size - 1, new_size, lambda _, end: end == old_size)
    return [reached, *beside] if reached[0] else beside


def _descend(index: int, size: int, is_end: Callable[[int, int], bool]) -> tuple[Span, list[Span]]:
    """Walk from the root towards a leaf. Return the last span, and those beside the way, lowest first."""
    beside, start, end = list[Span](), 0, size
    while not is_end(start, end):
        middle = start + _split(end - start)
        if index < middle:
            beside.append((middle, end))
            end = middle
        else:
            beside.append((start, middle))
            start = middle
    return (start, end), beside[::-1]


def inclusion_proof(index: int, size: int, hash_at: HashAt) -> list[bytes]:
    """Return the proof that leaf `index` is in the tree of `size` leaves."""
    return [_span_hash(span, hash_at) for span in inclusion_spans(index, size)]


def consistency_proof(old_size: int, new_size: int, hash_at: HashAt) -> list[bytes]:
    """Return the proof that the old tree is the beginning of the new one."""
    return [_span_hash(span, hash_at) for span in consistency_spans(old_size, new_size)]


def check_inclusion(leaf_hash: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise `Tampered` unless this leaf is number `index` under this root."""
    _check_lengths(leaf_hash, root)
    _check_equal("inclusion: the root", root_above(leaf_hash, index, size, proof), root)


def root_above(leaf_hash: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to."""
    digest = leaf_hash
    for sibling, is_left in inclusion_steps(index, size, proof):
        digest = node_hash(sibling, digest) if is_left else node_hash(digest, sibling)
    return digest


def inclusion_steps(index: int, size: int, proof: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each hash of an inclusion proof, leaf upwards, and whether it is the left one."""
    _check_lengths(*proof)
    if not 0 <= index < size:
        raise Tampered(f"inclusion: leaf {index} cannot be in a tree of {size} leaves")
    yield from _climb(index, size - 1, proof)


def root_preimage(leaf_hash: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """Return the 65 bytes whose SHA-256 is the root of a tree of two or more leaves."""
    digest, above = leaf_hash, b""
    for sibling, is_left in _climb(index, size - 1, proof):
        above = b"\x01" + (sibling + digest if is_left else digest + sibling)
        digest = sha256(above).digest()
    return above


def check_consistency(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Raise `Tampered` unless the old tree is the beginning of the new one."""
    _check_lengths(old_root, new_root, *proof)
    if not 0 <= old_size <= new_size:
        raise Tampered(f"consistency: a tree of {new_size} leaves cannot follow one of {old_size}")
    if 0 < old_size < new_size:
        grown = root_after(old_size, old_root, new_size, proof)
        return _check_equal("consistency: the new root", grown, new_root)
    if proof:
        raise Tampered(f"consistency: {old_size} to {new_size} leaves needs no proof, but one was given")
    if old_size == 0:
        _check_equal("consistency: the root of no leaves", EMPTY_ROOT, old_root)
    if old_size == new_size:
        _check_equal("consistency: the root at the same size", old_root, new_root)
    return None


def root_after(old_size: int, old_root: bytes, new_size: int, proof: Sequence[bytes]) -> bytes:
    """Return the root of the tree that grew from this one, or raise `Tampered` if the proof shows none."""
    _check_lengths(old_root, *proof)
    if not 0 < old_size < new_size:
        raise Tampered(f"consistency: a tree of {new_size} leaves does not grow from one of {old_size}")
    height = _trailing_zeros(old_size)
    path = [old_root, *proof] if old_size == 1 << height else list(proof)
    if not path:
        raise Tampered("the proof is too short for this tree; fetch it again")
    old = new = path[0]
    for sibling, is_left in _climb((old_size - 1) >> height, (new_size - 1) >> height, path[1:]):
        old = node_hash(sibling, old) if is_left else old
        new = node_hash(sibling, new) if is_left else node_hash(new, sibling)
    _check_equal("consistency: the old root", old, old_root)
    return new


def _climb(position: int, last: int, proof: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each sibling and whether it is the left one, up to the root."""
    for sibling in proof:
        if last == 0:
            raise Tampered("the proof is too long for this tree; fetch it again")
        is_left = bool(position & 1) or position == last
        yield sibling, is_left
        # A node without a right neighbour rises unchanged to where it has a left one.
        skip = _trailing_zeros(position) if is_left else 0
        position, last = position >> skip + 1, last >> skip + 1
    if last:
        raise Tampered("the proof is too short for this tree; fetch it again")


def _check_lengths(*hashes: bytes) -> None:
    if any(len(each) != HASH_BYTES for each in hashes):
        raise Tampered(f"a hash in the proof is not {HASH_BYTES} bytes long")


def _check_equal(what: str, computed: bytes, stated: bytes) -> None:
    if computed != stated:
        raise Tampered(f"{what} is {computed.hex()}, not {stated.hex()} as stated")


def _span_hash(span: Span, hash_at: HashAt) -> bytes:
    return _fold([hash_at(*node) for node in cover(*span)])


def _fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root above neighbouring subtrees, each narrower than the last."""
    above = hashes[-1]
    for left in hashes[-2::-1]:
        above = node_hash(left, above)
    return above


def _split(width: int) -> int:
    """Return the largest power of two smaller than `width`."""
    return 1 << (width - 1).bit_length() - 1


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1
