"""A ledger export: the history of one stream by itself, and the proof of its place in a log.

`foja log export` writes both. The history inside a bundle, taken out of it, is judged in the same way: it
does not say of which domain it is, but its chain begins in one, and the log has only that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from foja.core.bundle import history
from foja.core.canonical import parse
from foja.core.chain import genesis, leaf_entry
from foja.errors import BadBundle, NotCanonical
from foja.judge.inclusion import NOT_CHECKED, Inclusion, find_inclusion
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status

EVIDENCE = "ledger"
DOMAINS: tuple[str, ...] = ("document", "conversation", "thread", "image", "system")
NOT_COVERED = "what was recorded after the last event of this export"
_FORM, _BARE = history.FORM.encode(), b'{"body_hash":'
_SNIFF_BYTES = 512


@dataclass(frozen=True, slots=True)
class Whole:
    """A history read to its end: whose, how long, and where it ends in each domain it may be of."""

    entity_id: UUID
    events: int
    erased: int
    heads: Mapping[str, bytes]


def is_history(head: bytes) -> bool:
    """Say whether a file that begins like this means to be a history."""
    first = head[:_SNIFF_BYTES].partition(b"\n")[0]
    return first.startswith(_BARE) or (first.startswith(b"{") and _FORM in first)


def check_history(chunks: Iterable[bytes], proof: bytes | None, trust: Trust) -> Finding:
    """Return what is proven of a history: every body, number and link, and its end in a log."""
    try:
        whole = _read(history.split(chunks))
        if proof is None:
            detail = f"{whole.events} events without a gap; nothing shows that a log has them"
            return Finding(EVIDENCE, Status.PENDING, Reason.NO_CHECKPOINT, detail)
        ends = [leaf_entry(whole.entity_id, whole.events - 1, head) for head in whole.heads.values()]
        standing = find_inclusion(proof, ends, trust.logs, "the proof of the log")
    except BadBundle as error:
        return Finding(EVIDENCE, Status.INVALID, Reason(error.code), str(error))
    return _finding(whole, standing)


def _read(lines: Iterator[bytes]) -> Whole:
    first = next(lines, b"")
    if first.startswith(_BARE):
        domains, entity_id, lines = DOMAINS, _owner(first), _with(first, lines)
    else:
        domain, entity_id = history.read_heading(first)
        domains = (domain,)
    heads, count, erased = {each: genesis(each, entity_id) for each in domains}, 0, 0
    for event in history.follow(domains[0], entity_id, lines):
        heads = {each: history.link(event, head).chain_hash for each, head in heads.items()}
        count, erased = count + 1, erased + event.erased
    if not count:
        raise BadBundle("LEDGER_GAP", "the history has no event")
    return Whole(entity_id, count, erased, heads)


def _owner(line: bytes) -> UUID:
    """Return whose the history is by its first event; the others must be of the same stream."""
    try:
        document = parse(line)
        event = document.get("event") if isinstance(document, dict) else None
        return UUID(str(event.get("entity_id") if isinstance(event, dict) else None))
    except (NotCanonical, ValueError) as error:
        raise BadBundle("MALFORMED", f"line 0 of the history is not an event ({error})") from None


def _with(first: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from lines


def _finding(whole: Whole, standing: Inclusion) -> Finding:
    checkpoint = standing.checkpoint
    if standing.signer is None:
        detail = f"the log {checkpoint.origin} is signed by no key you trust"
        return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
    detail = (
        f"{whole.events} events of {whole.entity_id} without a gap; the last is entry {standing.proof.index}"
        f" of {checkpoint.origin}, signed at {checkpoint.size} entries"
    )
    gone = (
        (f"{whole.erased} bodies: erased or withheld, only their hashes are there",) if whole.erased else ()
    )
    return Finding(EVIDENCE, Status.VERIFIED, detail=detail, not_checked=(*NOT_CHECKED, NOT_COVERED, *gone))
