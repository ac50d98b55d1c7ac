"""Batches of documents under one token, with all that a test may want to change in a record."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from foja.pure.core.bundle import assembly
from foja.pure.core.bundle.archive import Part
from foja.pure.core.bundle.evidence_record import encode, lists_of
from foja.pure.core.canonical import Json
from foja.pure.proofs.ers import build_tree, group_hash
from tests.rules.bundles import Stamper


@dataclass(frozen=True)
class Stamped:
    """One document of a batch: its digest, its blinding, its path, and the token of the batch."""

    digest: bytes
    blinding: bytes
    path: bytes
    token: bytes
    root: bytes
    others: Sequence[bytes] = ()

    @property
    def lists(self) -> list[list[bytes]]:
        return lists_of(self.digest, self.blinding, self.path, self.others)

    @property
    def record(self) -> bytes:
        return encode(self.lists, self.token)

    @property
    def group(self) -> list[bytes]:
        return [sha256(self.blinding).digest(), *self.others]

    def payload(self) -> dict[str, Json]:
        """Return the fields of `tsa.confirmed`."""
        return {
            "witness_hash": self.digest.hex(),
            "token_b64": b64encode(self.token).decode(),
            "blinding_b64": b64encode(self.blinding).decode(),
            "path_b64": b64encode(self.path).decode(),
            "gen_time": "now",
        }


def stamp_batch(
    stamper: Stamper, digests: Sequence[bytes], others: Sequence[Sequence[bytes]] = ()
) -> list[Stamped]:
    """Return these digests under one token; blindings are derived, so that a test can be repeated."""
    blindings = [sha256(b"blinding" + each).digest() for each in digests]
    others = others or [()] * len(digests)
    tree = build_tree(list(map(group_hash, digests, blindings, others)))
    token = stamper.token(tree.root)
    parts = zip(digests, blindings, tree.paths, others, strict=True)
    return [Stamped(digest, blinding, path, token, tree.root, more) for digest, blinding, path, more in parts]


@dataclass(frozen=True)
class SealedParts:
    """The files of one bundle of a batch, the list of them, and its place under the token of the batch."""

    parts: list[Part]
    listed: bytes
    stamped: Stamped

    @property
    def files(self) -> list[Part]:
        """All files of the container, sealed."""
        one = self.stamped
        return assembly.seal_in_a_batch(self.parts, self.listed, one.blinding, one.record)


def seal_batch(stamper: Stamper, bundles: Sequence[list[Part]]) -> list[SealedParts]:
    """Return these bundles, each of which is its files up to the list, sealed under one token."""
    lists = [assembly.listing(parts, in_a_batch=True) for parts in bundles]
    documents = list(map(assembly.documents_in, bundles))
    stamped = stamp_batch(stamper, [sha256(each).digest() for each in lists], documents)
    return [SealedParts(*each) for each in zip(bundles, lists, stamped, strict=True)]


def digests_of(count: int) -> list[bytes]:
    """Return as many digests of different documents."""
    return [sha256(b"document %d" % number).digest() for number in range(count)]
