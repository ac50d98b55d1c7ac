"""What a node could add to judge a proof further: headers, blocks and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, TypeVar

from foja.errors import BadBundle, Tampered
from foja.pure.core.bundle.reader import open_container, starts_like_zip
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.judge.proof import MAX_BYTES, kind_of
from foja.pure.judge.trust import Trust
from foja.pure.proofs.evm import parse_header
from foja.pure.proofs.evm.anchor import parse_anchor
from foja.pure.proofs.finding import Flaw
from foja.pure.proofs.ots.stamp import parse_stamp
from foja.pure.proofs.rekor.batched import parse_proof

Parsed = TypeVar("Parsed")


def missing_heights(proofs: Iterable[bytes], trust: Trust) -> list[int]:
    """Return the heights of the Bitcoin blocks that these proofs lead to and that have no trusted header."""
    stamps = _parsed(proofs, "bitcoin", parse_stamp)
    found = {each.height for stamp in stamps for each in stamp.attestations if each.kind == "bitcoin"}
    return sorted(found - {height for height, _ in trust.headers})


def missing_blocks(proofs: Iterable[bytes], trust: Trust) -> list[tuple[int, bytes]]:
    """Return number and hash of the EVM blocks of these proofs that are not trusted yet."""
    blocks = _parsed(proofs, "evm", lambda data: parse_header(parse_anchor(data).header))
    return sorted({(block.number, block.hash) for block in blocks if block.hash not in trust.blocks})


def missing_trees(proofs: Iterable[bytes]) -> list[tuple[str, int]]:
    """Return origin and size of the log trees in which Sigstore bundles were recorded."""
    return sorted({tree for tree in _parsed(proofs, "rekor", _tree) if tree is not None})


def proofs_in(file: BinaryIO) -> list[bytes]:
    """Return the proofs in a bundle, or the content of the file if it is not a ZIP."""
    if not starts_like_zip(file):
        file.seek(0)
        return [file.read(MAX_BYTES)]
    try:
        container = open_container(file)
        proofs = [name for name in container.names if name.startswith("evidence/")]
        return [container.read(name) for name in proofs if container.size(name) <= MAX_BYTES]
    except BadBundle:
        return []


def _parsed(proofs: Iterable[bytes], kind: str, parse: Callable[[bytes], Parsed]) -> Iterator[Parsed]:
    """Yield the proofs of this kind that can be read."""
    for data in proofs:
        if kind_of(data) == kind:
            with suppress(Tampered, Flaw):
                yield parse(data)


def _tree(data: bytes) -> tuple[str, int] | None:
    inclusion = parse_proof(data).bundle.entry.inclusion
    if inclusion is None:
        return None
    checkpoint = parse_checkpoint(split_note(inclusion.checkpoint)[0])
    return checkpoint.origin, checkpoint.size
