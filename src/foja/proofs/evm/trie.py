"""A Merkle-Patricia proof: the nodes from a root down to one value."""

from __future__ import annotations

from collections.abc import Sequence

from foja.errors import Tampered
from foja.proofs.evm import rlp
from foja.proofs.evm.keccak import keccak256
from foja.proofs.evm.rlp import Item

_MOST_NODES = 32
_BRANCH, _SHORT, _HASH = 17, 2, 32


def value_at(root: bytes, key: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the value a trie with this root holds under a key, or raise `Tampered`."""
    if len(proof) > _MOST_NODES:
        raise Tampered(f"the trie's proof has more than {_MOST_NODES} nodes")
    path, expected = key.hex(), root
    for position, data in enumerate(proof):
        if keccak256(data) != expected:
            raise Tampered(f"node {position} of the trie's proof is not the one above it names")
        expected, rest = _walk(rlp.decode_list(data), path)
        if rest is None:
            if position != len(proof) - 1:
                raise Tampered("the trie's proof goes on after its value")
            return expected
        path = rest
    raise Tampered("the trie's proof ends before its value")


def _walk(node: list[Item], path: str) -> tuple[bytes, str | None]:
    """Go down inside one node: return the next hash and what is left of the path, or the value and None."""
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
        return _checked(child, is_value=rest is None), rest


def _checked(child: Item, *, is_value: bool) -> bytes:
    if not isinstance(child, bytes) or not child or (not is_value and len(child) != _HASH):
        raise Tampered("the trie holds nothing under this key")
    return child


def _follow(node: list[Item], path: str) -> tuple[Item, str | None]:
    """Return what an extension leads to, or the value of a leaf."""
    spelled = rlp.text(node, 0).hex()
    flag = int(spelled[:1] or "f", 16)
    if flag > 3 or (flag % 2 == 0 and spelled[1:2] != "0"):
        raise Tampered("a node of the trie's proof has a path that cannot be read")
    own = spelled[1:] if flag % 2 else spelled[2:]
    if flag >= 2:
        if own != path:
            raise Tampered("the trie holds nothing under this key")
        return node[1], None
    if not own or not path.startswith(own):
        raise Tampered("the trie holds nothing under this key")
    return node[1], path[len(own) :]
