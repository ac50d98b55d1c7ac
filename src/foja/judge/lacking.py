"""What is missing to judge a proof further, and could be asked of a node: headers and blocks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from foja.core.bundle.reading import open_container
from foja.errors import BadBundle, Tampered
from foja.judge.proof import CONTAINER, kind_of
from foja.judge.trust import Trust
from foja.proofs.evm import parse_header
from foja.proofs.evm.anchor import parse_anchor
from foja.proofs.ots.stamp import Attestation, parse_stamp


def heights_lacking(proofs: Iterable[bytes], trust: Trust) -> list[int]:
    """Return the Bitcoin blocks these proofs lead to and no header was named for."""
    known = {height for height, _ in trust.headers}
    found = {
        each.height
        for data in proofs
        if kind_of(data) == "bitcoin"
        for each in _stamp(data)
        if each.kind == "bitcoin"
    }
    return sorted(found - known)


def blocks_lacking(proofs: Iterable[bytes], trust: Trust) -> list[tuple[int, bytes]]:
    """Return number and hash of the EVM blocks these proofs stand in and nobody named."""
    found = {block for data in proofs if kind_of(data) == "evm" for block in _block(data)}
    return sorted(each for each in found if each[1] not in trust.blocks)


def unpacked(data: bytes) -> list[bytes]:
    """Return the proofs inside a bundle, or the data itself if it is none."""
    if not data.startswith(CONTAINER):
        return [data]
    try:
        container = open_container(io.BytesIO(data))
        return [container.read(name) for name in container.names if name.startswith("evidence/")]
    except BadBundle:
        return []


def _stamp(data: bytes) -> Iterator[Attestation]:
    try:
        yield from parse_stamp(data).attestations
    except Tampered:
        return


def _block(data: bytes) -> Iterator[tuple[int, bytes]]:
    try:
        block = parse_header(parse_anchor(data).header)
    except Tampered:
        return
    yield block.number, block.hash
