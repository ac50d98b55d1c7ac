"""Judge a ledger export: the history of one stream, and the proof that it is in a log.

`foja log export` writes both. A history taken out of a bundle is judged in the same way: it does not name
its domain, so the chain is computed for every domain of Foja, and the log holds only the right one. The
domain of a user has to be named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from foja.conversations.model.events import CONVERSATION
from foja.core.bundle import history
from foja.core.canonical import parse
from foja.core.chain import genesis, leaf_entry
from foja.core.registry import RESERVED
from foja.documents.model.events import DOCUMENT
from foja.errors import BadBundle, NotCanonical
from foja.judge.inclusion import NOT_CHECKED, Inclusion, find_inclusion
from foja.judge.trust import Trust
from foja.proofs.finding import Finding, Reason, Status
from foja.threads.model.events import THREAD

EVIDENCE = "ledger"
KINDS = {
    domain.name: {kind.name for kind in domain.kinds} | RESERVED
    for domain in (CONVERSATION, DOCUMENT, THREAD)
}
NOT_COVERED = "what was recorded after the last event of this export"
_FORM, _BARE = history.FORM.encode(), b'{"body_hash":'
_SNIFF_BYTES = 512


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """A history read to its end: its stream, its length, and its head in each possible domain."""

    entity_id: UUID
    events: int
    erased: int
    heads: Mapping[str, bytes]
    kinds: AbstractSet[str]


def is_history(head: bytes) -> bool:
    """Return whether a file with this beginning is a history."""
    first = head[:_SNIFF_BYTES].partition(b"\n")[0]
    return first.startswith(_BARE) or (first.startswith(b"{") and _FORM in first)


def check_history(
    chunks: Iterable[bytes], proof: bytes | None, trust: Trust, domain: str | None = None
) -> Finding:
    """Return what is proven of a history: every body, number and link, and its last event in a log.

    `domain` is that of a history that does not name it, if it is not one of Foja.
    """
    try:
        summary = _read(history.split(chunks), domain)
        if proof is None:
            detail = f"{summary.events} events without a gap; no proof shows that they are in a log"
            return Finding(EVIDENCE, Status.PENDING, Reason.NO_CHECKPOINT, detail)
        if len(summary.heads) > 1 and not any(summary.kinds <= known for known in KINDS.values()):
            detail = "the history does not name its domain, and it is not one of Foja; name it with --domain"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.UNKNOWN_DOMAIN, detail)
        ends = [leaf_entry(summary.entity_id, summary.events - 1, head) for head in summary.heads.values()]
        inclusion = find_inclusion(proof, ends, trust.logs, "the log proof")
    except BadBundle as error:
        return Finding(EVIDENCE, Status.INVALID, Reason(error.code), str(error))
    return _finding(summary, inclusion)


def _read(lines: Iterator[bytes], domain: str | None) -> HistorySummary:
    first = next(lines, b"")
    if first.startswith(_BARE):
        domains, entity_id, lines = [domain] if domain else [*KINDS], _entity_id(first), chain([first], lines)
    else:
        named, entity_id = history.read_heading(first)
        if domain not in (None, named):
            raise BadBundle("INCLUSION_INVALID", f"the history is of the domain {named!a}, not {domain!a}")
        domains = [named]
    heads, kinds, count, erased = {each: genesis(each, entity_id) for each in domains}, set[str](), 0, 0
    for event in history.decode_lines(domains[0], entity_id, lines):
        heads = {each: history.link(event, head).chain_hash for each, head in heads.items()}
        kinds.add(event.kind)
        count, erased = count + 1, erased + event.erased
    if not count:
        raise BadBundle("LEDGER_GAP", "the history has no event")
    return HistorySummary(entity_id, count, erased, heads, kinds)


def _entity_id(line: bytes) -> UUID:
    """Return the stream of the first event; the others must be of the same stream."""
    try:
        document = parse(line)
        event = document.get("event") if isinstance(document, dict) else None
        return UUID(str(event.get("entity_id") if isinstance(event, dict) else None))
    except (NotCanonical, ValueError) as error:
        raise BadBundle("MALFORMED", f"line 0 of the history is not an event ({error})") from None


def _finding(summary: HistorySummary, inclusion: Inclusion) -> Finding:
    checkpoint = inclusion.checkpoint
    if inclusion.signer is None:
        detail = f"no key you trust signed the log {checkpoint.origin}"
        return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail)
    detail = (
        f"{summary.events} events of {summary.entity_id} without a gap; the last is entry"
        f" {inclusion.proof.index} of {checkpoint.origin}, signed at {checkpoint.size} entries"
    )
    erased = f"{summary.erased} bodies: erased or withheld, only their hashes are present"
    not_checked = (*NOT_CHECKED, NOT_COVERED, *((erased,) if summary.erased else ()))
    return Finding(EVIDENCE, Status.VERIFIED, detail=detail, not_checked=not_checked)
