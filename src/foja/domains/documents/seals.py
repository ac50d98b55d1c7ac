"""Seal bundles: a token over the list of one, or one token over the lists of many."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import sha256

from foja.domains.documents.container import Sealed, Unsealed
from foja.domains.documents.stamper import Confirmed, Stamper, Unconfirmed, without_large
from foja.errors import Unstamped
from foja.pure.core.bundle import assembly
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES, encode, lists_of
from foja.pure.proofs.ers import build_tree, group_hash
from foja.pure.proofs.tsa import Timestamp


async def stamp_listing(stamper: Stamper, listing: bytes) -> Timestamp:
    """Return a token over a list of files, or raise `Unstamped`."""
    return _confirmed(await stamper.stamp(sha256(listing).digest()))


async def seal_alone(stamper: Stamper, bundle: Unsealed) -> Sealed:
    """Return a bundle with a token of its own, or raise `Unstamped`."""
    listed = assembly.listing(bundle.parts)
    found = await stamp_listing(stamper, listed)
    return bundle.sealed(assembly.seal(bundle.parts, found.token, listed=listed), found)


async def seal_together(stamper: Stamper, bundles: Sequence[Unsealed]) -> list[Sealed]:
    """Return these bundles under one token, each with an evidence record, or raise `Unstamped`.

    A leaf is about a list, its own random file and the document, so that no bundle shows that of another.
    """
    if len(bundles) == 1:
        return [await seal_alone(stamper, bundles[0])]
    lists = [assembly.listing(each.parts, in_a_batch=True) for each in bundles]
    digests = [sha256(each).digest() for each in lists]
    blindings = [secrets.token_bytes(BLINDING_BYTES) for _ in bundles]
    documents = [assembly.documents_in(each.parts) for each in bundles]
    tree = build_tree(list(map(group_hash, digests, blindings, documents)))
    found = _confirmed(without_large(await stamper.stamp(tree.root)))
    records = [encode(each, found.token) for each in map(lists_of, digests, blindings, tree.paths, documents)]
    parts = map(assembly.seal_in_a_batch, (each.parts for each in bundles), lists, blindings, records)
    return [bundle.sealed(own, found) for bundle, own in zip(bundles, parts, strict=True)]


def _confirmed(found: Confirmed | Unconfirmed) -> Timestamp:
    if isinstance(found, Confirmed):
        return found.stamp
    raise Unstamped(found.code, f"no authority stamped the bundle: {found.detail}; try again later")
