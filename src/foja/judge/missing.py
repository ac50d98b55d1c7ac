"""What a node could add to judge a proof further: headers, blocks and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from foja.core.bundle.reader import open_container, starts_like_zip
from foja.core.note import parse_checkpoint, split_note
from foja.errors import BadBundle, Tampered
from foja.judge.proof import MAX_BYTES, kind_of
from foja.judge.trust import Trust
from foja.proofs.evm import parse_header
from foja.proofs.evm.anchor import parse_anchor
from foja.proofs.flaw import Flaw
from foja.proofs.ots.stamp import Attestation, parse_stamp
from foja.proofs.rekor.bundle import parse_bundle


def missing_heights(proofs: Iterable[bytes], trust: Trust) -> list[int]:
    """Return the heights of the Bitcoin blocks that these proofs lead to and that have no trusted header."""
    known = {height for height, _ in trust.headers}
    found = {
        each.height
        for data in proofs
        if kind_of(data) == "bitcoin"
        for each in _stamp(data)
        if each.kind == "bitcoin"
    }
    return sorted(found - known)


def missing_blocks(proofs: Iterable[bytes], trust: Trust) -> list[tuple[int, bytes]]:
    """Return number and hash of the EVM blocks of these proofs that are not trusted yet."""
    found = {block for data in proofs if kind_of(data) == "evm" for block in _block(data)}
    return sorted(each for each in found if each[1] not in trust.blocks)


def missing_trees(proofs: Iterable[bytes]) -> list[tuple[str, int]]:
    """Return origin and size of the log trees in which Sigstore bundles were recorded."""
    return sorted({tree for data in proofs if kind_of(data) == "rekor" for tree in _tree(data)})


def proofs_in(file: BinaryIO) -> list[bytes]:
    """Return the proofs in a bundle, or the content of the file if it is not a ZIP."""
    if not starts_like_zip(file):
        file.seek(0)
        return [file.read(MAX_BYTES)]
    try:
        container = open_container(file)
        return [container.read(name) for name in container.names if name.startswith("evidence/")]
    except BadBundle:
        return []


def _stamp(data: bytes) -> Iterator[Attestation]:
    try:
        yield from parse_stamp(data).attestations
    except Tampered:
        return


def _tree(data: bytes) -> Iterator[tuple[str, int]]:
    try:
        inclusion = parse_bundle(data).entry.inclusion
        if inclusion:
            checkpoint = parse_checkpoint(split_note(inclusion.checkpoint)[0])
            yield checkpoint.origin, checkpoint.size
    except (Tampered, Flaw):
        return


def _block(data: bytes) -> Iterator[tuple[int, bytes]]:
    try:
        block = parse_header(parse_anchor(data).header)
    except Tampered:
        return
    yield block.number, block.hash
