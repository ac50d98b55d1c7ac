"""Judge what `foja log prove` and `foja log export` write: an event or a history, and its log proof."""

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
_EVENTS_JSON = b'{"seq":'  # how `foja events --json` begins: for reading, without salts and hashes


def check_recorded(file: BinaryIO, proof: bytes, trust: Trust, domain: str | None = None) -> Finding:
    """Return what a log proof shows about the event or the history in this file."""
    if holds_history(file):
        return check_history(read_chunks(file), proof, trust, domain)
    file.seek(0)
    return check_event(file.read(LARGEST_EVENT), proof, trust)


def holds_history(file: BinaryIO) -> bool:
    """Return whether this file is a history, by its beginning."""
    file.seek(0)
    return is_history(file.read(CHUNK_BYTES))


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file of any size, from its beginning."""
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def check_event(event: bytes, proof: bytes, trust: Trust) -> Finding:
    """Return what is proven of an event: its body, its position in its stream and in a log."""
    if event.startswith(_EVENTS_JSON):
        detail = "these events have no salts and hashes to check; use `foja log export` instead"
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail)
    try:
        excerpt = parse_excerpt(event)
        inclusion = find_inclusion(proof, [excerpt.check()], trust.logs, "the log proof")
    except BadBundle as error:
        return Finding(EVIDENCE, Status.INVALID, Reason(error.code), str(error))
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.INCLUSION_INVALID, str(error))
    checkpoint = inclusion.checkpoint
    if inclusion.signer is None:
        detail = f"no key you trust signed the log {checkpoint.origin}"
        return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
    detail = (
        f"event {excerpt.seq} of {excerpt.entity_id} matches its hashes and is entry {inclusion.proof.index}"
        f" of {checkpoint.origin}, signed at {checkpoint.size} entries"
    )
    return Finding(EVIDENCE, Status.VERIFIED, None, detail, not_checked=NOT_CHECKED)
