"""Build the trie of a block's transactions, and the Merkle-Patricia proof of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foja.errors import Tampered
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.rlp import Item

Pairs: TypeAlias = "list[tuple[str, bytes]]"  # the path in hexadecimal digits, and the value
_DIGITS = "0123456789abcdef"
_HASH = 32


@dataclass(frozen=True, slots=True)
class Trie:
    """A whole trie: its root, and every node that is named by its hash."""

    root: bytes
    size: int
    _nodes: Mapping[bytes, bytes]

    def proof(self, position: int) -> tuple[bytes, ...]:
        """Return the nodes from the root down to the value at a position, as `trie.value_at` takes them."""
        if not 0 <= position < self.size:
            raise Tampered(f"a trie of {self.size} transactions holds nothing at position {position}")
        path, found, reference = _path(position), list[bytes](), self.root
        while reference:
            found.append(self._nodes[reference])
            reference, path = _next(rlp.decode_list(found[-1]), path)
        return tuple(found)


def build(values: Sequence[bytes]) -> Trie:
    """Return the trie of a block's transactions, in their order."""
    nodes = dict[bytes, bytes]()
    pairs = [(_path(position), value) for position, value in enumerate(values)]
    top = rlp.encode(_node(pairs, nodes) if pairs else b"")
    root = keccak256(top)
    return Trie(root, len(values), {**nodes, root: top})


def build_fitting(values: Sequence[bytes | None], root: bytes) -> Trie | None:
    """Return the trie of a block with this root, or None if these transactions do not give it.

    None is a transaction whose bytes are not known. Polygon's nodes show a transaction at the end of some
    blocks (state sync) that the root does not cover.
    """
    for known in (values, values[:-1]):
        if None not in known:
            trie = build([each for each in known if each is not None])
            if trie.root == root:
                return trie
    return None


def _path(position: int) -> str:
    return rlp.encode(rlp.number_bytes(position)).hex()


def _node(pairs: Pairs, nodes: dict[bytes, bytes]) -> list[Item]:
    """Return the node above these pairs, and store those below it that are named by their hash."""
    if len(pairs) == 1:
        return [_packed(pairs[0][0], leaf=True), pairs[0][1]]
    shared = _shared(pairs)
    if shared:
        rest = [(path[len(shared) :], value) for path, value in pairs]
        return [_packed(shared, leaf=False), _reference(_node(rest, nodes), nodes)]
    below: dict[str, Pairs] = {digit: [] for digit in _DIGITS}
    for path, value in pairs:  # no path ends here: no number's encoding begins another's
        below[path[0]].append((path[1:], value))
    return [*(_reference(_node(each, nodes), nodes) if each else b"" for each in below.values()), b""]


def _reference(node: list[Item], nodes: dict[bytes, bytes]) -> Item:
    """Return how the node above names this one: by its hash, or as a whole if it is shorter than a hash."""
    encoded = rlp.encode(node)
    if len(encoded) < _HASH:
        return node
    name = keccak256(encoded)
    nodes[name] = encoded
    return name


def _next(node: list[Item], path: str) -> tuple[bytes, str]:
    """Return the hash of the next node and the rest of the path; no hash if the value is in this node."""
    while True:
        if len(node) == 2:
            own = rlp.bytes_at(node, 0).hex()
            if own[0] >= "2":
                return b"", ""
            child, path = node[1], path[len(own) - (1 if own[0] == "1" else 2) :]
        else:
            child, path = node[int(path[0], 16)], path[1:]
        if isinstance(child, bytes):
            return child, path
        node = child


def _packed(path: str, *, leaf: bool) -> bytes:
    odd = len(path) % 2
    return bytes.fromhex(f"{2 * leaf + odd:x}" + ("" if odd else "0") + path)


def _shared(pairs: Pairs) -> str:
    paths = [path for path, _ in pairs]
    first, last = min(paths), max(paths)
    same = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, len(first))]
