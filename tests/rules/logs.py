"""A log for tests that needs no database: its leaves, checkpoints of every size, and proofs between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from foja.pure.core.merkle import EMPTY_ROOT, Frontier, consistency_proof, leaf_hash, node_hash
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.proofs.cosignature import CosignRequest

KEY = Signer("log.example", sha256(b"the key of the log").digest())


@dataclass
class MemoryLog:
    """Leaf `n` is the same in two logs unless `n` is at or above `forked_at` of one of them."""

    signer: Signer = KEY
    forked_at: int | None = None
    origin: str = "log.example"

    def entry(self, index: int) -> bytes:
        other = self.forked_at is not None and index >= self.forked_at
        return f"{'other' if other else 'leaf'} {index}".encode()

    def checkpoint(self, size: int) -> Checkpoint:
        root = Frontier().extend(leaf_hash(self.entry(n)) for n in range(size)).root() if size else EMPTY_ROOT
        return Checkpoint(self.origin, size, root)

    def note(self, size: int) -> str:
        return self.signer.sign(self.checkpoint(size).text())

    def proof(self, old: int, new: int) -> tuple[bytes, ...]:
        @cache
        def hash_at(level: int, index: int) -> bytes:
            if level == 0:
                return leaf_hash(self.entry(index))
            return node_hash(hash_at(level - 1, 2 * index), hash_at(level - 1, 2 * index + 1))

        return tuple(consistency_proof(old, new, hash_at))

    def request(self, old: int, new: int) -> bytes:
        proof = self.proof(old, new) if old <= new else ()
        return CosignRequest(old, proof, self.note(new)).text().encode()
