"""EVM blocks for tests: whole tries and signed transactions, made by independent libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

import rlp
from eth_hash.auto import keccak
from eth_keys.datatypes import PrivateKey

from foja.pure.core.merkle import Frontier, inclusion_proof, leaf_hash, node_hash
from foja.pure.proofs.evm.anchor import TAG, Anchor, Batch

KEY = PrivateKey(sha256(b"sender").digest())
SENDER = KEY.public_key.to_canonical_address()
TIME = 1_700_000_000


class Trie:
    """A Merkle-Patricia trie over the RLP of positions, as blocks store their transactions."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self._nodes: dict[bytes, bytes] = {}
        pairs = [(rlp.encode(position).hex(), value) for position, value in enumerate(values)]
        top = rlp.encode(self._node(pairs))
        self.root: bytes = keccak(top)
        self._nodes[self.root] = top

    def proof(self, position: int) -> tuple[bytes, ...]:
        """Return the nodes from the root to a value."""
        path, reference, found = rlp.encode(position).hex(), self.root, []
        while True:
            found.append(self._nodes[reference])
            node = rlp.decode(found[-1])
            while True:
                if len(node) == 17:
                    child, path = (node[int(path[0], 16)], path[1:]) if path else (None, path)
                else:
                    own, is_leaf = _unpacked(node[0])
                    child, path = (None, "") if is_leaf else (node[1], path[len(own) :])
                if not isinstance(child, list):
                    break
                node = child
            if child is None:
                return tuple(found)
            reference = child

    def _node(self, pairs: list[tuple[str, bytes]]) -> list:
        if len(pairs) == 1:
            return [_packed(pairs[0][0], leaf=True), pairs[0][1]]
        shared = _shared([path for path, _ in pairs])
        if shared:
            inner = self._node([(path[len(shared) :], value) for path, value in pairs])
            return [_packed(shared, leaf=False), self._reference(inner)]
        children = []
        for nibble in "0123456789abcdef":
            under = [(path[1:], value) for path, value in pairs if path[:1] == nibble]
            children.append(self._reference(self._node(under)) if under else b"")
        return [*children, next((value for path, value in pairs if not path), b"")]

    def _reference(self, node: list) -> object:
        encoded = rlp.encode(node)
        if len(encoded) < 32:
            return node
        self._nodes[keccak(encoded)] = encoded
        return keccak(encoded)


def _packed(path: str, *, leaf: bool) -> bytes:
    flag = (2 if leaf else 0) + len(path) % 2
    return bytes.fromhex(f"{flag:x}" + ("" if len(path) % 2 else "0") + path)


def _unpacked(data: bytes) -> tuple[str, bool]:
    text = data.hex()
    flag = int(text[0], 16)
    return text[1:] if flag % 2 else text[2:], flag >= 2


def _shared(paths: list[str]) -> str:
    first, last = min(paths), max(paths)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def _encoded(fields: list) -> bytes:
    data: bytes = rlp.encode(fields)
    return data


def transaction(data: bytes, *, kind: int = 2, chain_id: int = 137, key: PrivateKey = KEY) -> bytes:
    """Return a signed transaction to an arbitrary address: type 0 (legacy), 1, 2 or 4."""
    to = b"\x11" * 20
    if kind == 0:
        fields: list = [7, 10**9, 30_000, to, 0, data]
        signature = key.sign_msg_hash(keccak(rlp.encode([*fields, chain_id, 0, 0])))
        return _encoded([*fields, 35 + 2 * chain_id + signature.v, signature.r, signature.s])
    fees = [10**9] if kind == 1 else [10**9, 10**9]
    fields = [chain_id, 7, *fees, 30_000, to, 0, data, [], *([[]] if kind == 4 else [])]
    start = bytes([kind])
    signature = key.sign_msg_hash(keccak(start + rlp.encode(fields)))
    return start + _encoded([*fields, signature.v, signature.r, signature.s])


def header(transactions_root: bytes, number: int = 50_000_000) -> bytes:
    """Return a header with the fields of a block after London."""
    return _encoded(
        [
            b"\x01" * 32,
            b"\x02" * 32,
            b"\x03" * 20,
            b"\x04" * 32,
            transactions_root,
            b"\x05" * 32,
            b"\x00" * 256,
            1,
            number,
            30_000_000,
            21_000,
            TIME,
            b"bor",
            b"\x00" * 32,
            b"\x00" * 8,
            7,
        ]
    )


@dataclass(frozen=True)
class Scene:
    """A digest that is anchored in a block."""

    digest: bytes
    anchor: Anchor
    block_hash: bytes


def batch(digest: bytes, size: int, index: int) -> tuple[bytes, Batch]:
    """Return the root of a batch and the position of a digest in it."""
    salts = [sha256(b"salt%d" % each).digest()[:16] for each in range(size)]
    digests = [digest if each == index else sha256(b"other%d" % each).digest() for each in range(size)]
    leaves = [leaf_hash(salt + each) for salt, each in zip(salts, digests, strict=True)]

    def hash_at(level: int, at: int) -> bytes:
        if level == 0:
            return leaves[at]
        return node_hash(hash_at(level - 1, 2 * at), hash_at(level - 1, 2 * at + 1))

    root = Frontier().extend(leaves).root()
    return root, Batch(size, index, salts[index], tuple(inclusion_proof(index, size, hash_at)))


@cache
def _others(count: int) -> tuple[bytes, ...]:
    return tuple(transaction(b"%d" % each, kind=each % 3) for each in range(count))


def scene(
    *, kind: int = 2, chain_id: int = 137, among: int = 200, position: int = 130, data: bytes | None = None
) -> Scene:
    """Return a digest anchored by one transaction among many."""
    digest = sha256(b"document").digest()
    root, position_in_batch = batch(digest, 5, 3)
    anchoring = transaction(TAG + root if data is None else data, kind=kind, chain_id=chain_id)
    values = [*_others(among)]
    values[position] = anchoring
    trie = Trie(values)
    head = header(trie.root)
    anchor = Anchor(chain_id, head, position, trie.proof(position), position_in_batch)
    return Scene(digest, anchor, keccak(head))
