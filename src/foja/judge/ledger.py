"""An event and the proof of its place in a log, as `foja log prove` writes them."""

from __future__ import annotations

from foja.core.excerpt import parse_excerpt
from foja.core.note import split_note
from foja.core.proof import Proof, parse_proof
from foja.errors import Tampered
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

EVIDENCE = "ledger"
_HISTORY = b'{"body_hash":'  # how a line of a bundle's events begins; it does not say of which domain it is


def check_event(event: bytes, proof: bytes, trust: Trust) -> Finding:
    """Return what is proven of an event: its body, its place in its stream, its place in a log."""
    if event.startswith(_HISTORY):
        detail = (
            "this is a history, not one event; give the bundle it came in, or what `foja log prove` writes"
        )
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail)
    try:
        excerpt = parse_excerpt(event)
        entry = excerpt.check()
        place = parse_proof(proof.decode(errors="replace"))
        if not _is_trusted(place, trust):
            detail = "the log is signed by no key you trust"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
        checkpoint = place.check(entry, trust.logs)
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.INCLUSION_INVALID, str(error))
    detail = (
        f"event {excerpt.seq} of {excerpt.entity_id} fits its hashes and is entry {place.index}"
        f" of {checkpoint.origin}, signed at {checkpoint.size} entries"
    )
    missed = ("when that was: a log orders, it does not date", "whether others were shown the same log")
    return Finding(EVIDENCE, Status.VERIFIED, None, detail, not_checked=missed)


def _is_trusted(proof: Proof, trust: Trust) -> bool:
    known = {(each.name, each.key_id) for each in trust.logs}
    _, signatures = split_note(proof.note)
    return any((each.name, each.key_id) in known for each in signatures)
