"""What `foja log prove` and `foja log export` write: an event or a history, and its place in a log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from foja.core.excerpt import parse_excerpt
from foja.errors import BadBundle, Tampered
from foja.judge.history import check_history, is_history
from foja.judge.inclusion import NOT_CHECKED, find_inclusion
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

EVIDENCE = "ledger"
LARGEST_EVENT = 16 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024
_SHOWN = b'{"seq":'  # how `foja events --json` begins: for reading, without what checking needs


def check_recorded(file: BinaryIO, proof: bytes, trust: Trust) -> Finding:
    """Return what a proof of a log shows about the event or the history in this file."""
    if holds_history(file):
        return check_history(pieces(file), proof, trust)
    file.seek(0)
    return check_event(file.read(LARGEST_EVENT), proof, trust)


def holds_history(file: BinaryIO) -> bool:
    """Say whether this file means to be a history."""
    file.seek(0)
    return is_history(file.read(CHUNK_BYTES))


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what a file of any size holds, from its beginning."""
    file.seek(0)
    while piece := file.read(CHUNK_BYTES):
        yield piece


def check_event(event: bytes, proof: bytes, trust: Trust) -> Finding:
    """Return what is proven of an event: its body, its place in its stream, its place in a log."""
    if event.startswith(_SHOWN):
        detail = (
            "these events are for reading, without salts and hashes; `foja log export` adds what they lack"
        )
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail)
    try:
        excerpt = parse_excerpt(event)
        standing = find_inclusion(proof, [excerpt.check()], trust.logs, "the proof of the log")
    except BadBundle as error:
        return Finding(EVIDENCE, Status.INVALID, Reason(error.code), str(error))
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.INCLUSION_INVALID, str(error))
    checkpoint = standing.checkpoint
    if standing.signer is None:
        detail = f"the log {checkpoint.origin} is signed by no key you trust"
        return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
    detail = (
        f"event {excerpt.seq} of {excerpt.entity_id} fits its hashes and is entry {standing.proof.index}"
        f" of {checkpoint.origin}, signed at {checkpoint.size} entries"
    )
    return Finding(EVIDENCE, Status.VERIFIED, None, detail, not_checked=NOT_CHECKED)
