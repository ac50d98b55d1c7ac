"""A Merkle-Patricia proof: the nodes from a root down to one value."""

from __future__ import annotations

from collections.abc import Sequence

from foja.errors import Tampered
from foja.pure.proofs.evm import rlp
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.rlp import Item

MAX_NODES = 32
_BRANCH, _SHORT, _HASH = 17, 2, 32


def value_at(root: bytes, key: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the value under a key of the trie with this root, or raise `Tampered`."""
    if len(proof) > MAX_NODES:
        raise Tampered(f"the trie's proof has more than {MAX_NODES} nodes")
    path, expected = key.hex(), root
    for position, data in enumerate(proof):
        if keccak256(data) != expected:
            raise Tampered(f"node {position} of the trie's proof does not match the hash above it")
        expected, rest = _walk(rlp.decode_list(data), path)
        if rest is None:
            if position != len(proof) - 1:
                raise Tampered("the trie's proof has nodes after its value")
            return expected
        path = rest
    raise Tampered("the trie's proof ends before its value")


def _walk(node: list[Item], path: str) -> tuple[bytes, str | None]:
    """Walk down inside one node. Return the next hash and the rest of the path, or the value and None."""
    while True:
        if len(node) == _BRANCH:
            child, rest = (node[int(path[0], 16)], path[1:]) if path else (node[-1], None)
        elif len(node) == _SHORT:
            child, rest = _follow(node, path)
        else:
            raise Tampered(f"a node of the trie's proof has {len(node)} items")
        if isinstance(child, list) and rest is not None:
            node, path = child, rest
            continue
        if not isinstance(child, bytes) or not child or (rest is not None and len(child) != _HASH):
            raise Tampered("the trie holds nothing under this key")
        return child, rest


def _follow(node: list[Item], path: str) -> tuple[Item, str | None]:
    """Return the child of an extension and the rest of the path, or the value of a leaf and None."""
    nibbles = rlp.bytes_at(node, 0).hex()
    flag = int(nibbles[:1] or "f", 16)
    if flag > 3 or (flag % 2 == 0 and nibbles[1:2] != "0"):
        raise Tampered("a node of the trie's proof has a path that cannot be read")
    own = nibbles[1:] if flag % 2 else nibbles[2:]
    if flag >= 2:
        if own != path:
            raise Tampered("the trie holds nothing under this key")
        return node[1], None
    if not own or not path.startswith(own):
        raise Tampered("the trie holds nothing under this key")
    return node[1], path[len(own) :]
