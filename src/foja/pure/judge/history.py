"""Judge what `foja log prove` and `foja log export` write: an event or a history, and its log proof.

A history taken out of a bundle is judged in the same way: it does not name its domain, so the chain is
computed for every domain of Foja, and the log holds only the right one. The domain of a user has to be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import BinaryIO
from uuid import UUID

from foja.errors import BadBundle, NotCanonical, Tampered
from foja.pure.core.bundle import history
from foja.pure.core.canonical import Json, parse
from foja.pure.core.chain import genesis, leaf_entry
from foja.pure.core.excerpt import Excerpt, moment, parse_excerpt
from foja.pure.core.proof import RECEIPT
from foja.pure.core.registry import BODY_ERASED, RESERVED
from foja.pure.judge.collector import in_rounds, paused
from foja.pure.judge.contents import ContentsReader, contents_of
from foja.pure.judge.detached import Detached
from foja.pure.judge.inclusion import (
    NOT_CHECKED,
    Inclusion,
    check_growth,
    find_inclusion,
    find_receipt,
    is_checkpoint,
    is_included,
    log_item,
    refusal,
    unsigned,
)
from foja.pure.judge.others.monitors import Marks, alone, beside, judge_others
from foja.pure.judge.trust import Trust
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.models.images.events import IMAGE
from foja.pure.models.system.events import SYSTEM
from foja.pure.models.threads.events import THREAD
from foja.pure.proofs.contents import Contents
from foja.pure.proofs.finding import Finding, Reason, ShownEvent, Status
from foja.pure.quotation import quoted

EVIDENCE = "ledger"
KINDS = {
    domain.name: {kind.name for kind in domain.kinds} | RESERVED
    for domain in (CONVERSATION, DOCUMENT, IMAGE, SYSTEM, THREAD)
}
NOT_COVERED = "what was recorded after the last event of this export"
_FORM, _BARE = history.FORM.encode(), re.compile(rb'\{"body_hash":"[0-9a-f]*","event":')
_SNIFF_BYTES = 512
_EVENTS_JSON = b'{"seq":'  # how `foja events --json` begins: for reading, without salts and hashes
LARGEST_EVENT = history.LONGEST_LINE
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """A history read to its end: its stream, its length, and its head in each possible domain."""

    entity_id: UUID
    events: int
    erased: AbstractSet[int]  # the events without a body
    heads: Mapping[str, bytes]
    kinds: AbstractSet[str]
    withheld: AbstractSet[int]  # those of them whose erasure no later event records
    ends: tuple[ShownEvent, ...]  # the first and the last event
    contents: Contents

    def head_in(self, inclusion: Inclusion) -> bytes:
        """Return the head that is in the log."""
        return next(
            head
            for head in self.heads.values()
            if is_included(leaf_entry(self.entity_id, self.events - 1, head), inclusion)
        )


def check_recorded(
    file: BinaryIO,
    proof: bytes,
    trust: Trust,
    at: datetime,
    domain: str | None = None,
    statements: Sequence[Detached] = (),
) -> tuple[Finding, ...]:
    """Return what a log proof shows about the event, history or checkpoint in this file, then statements."""
    if holds_history(file):
        return check_history(read_chunks(file), proof, trust, domain, at, statements)
    file.seek(0)
    data = file.read(LARGEST_EVENT + 1)
    if proof.startswith(RECEIPT) and is_checkpoint(data):
        return check_growth(data, proof, trust), *map(alone, statements)
    return check_event(data, proof, trust, at, statements)


def holds_history(file: BinaryIO) -> bool:
    """Return whether this file is a history, by its beginning."""
    file.seek(0)
    first = file.read(_SNIFF_BYTES).partition(b"\n")[0]
    return bool(_BARE.match(first)) or (first.startswith(b"{") and _FORM in first)


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file of any size, from its beginning."""
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def check_event(
    event: bytes,
    proof: bytes,
    trust: Trust,
    at: datetime | None = None,
    statements: Sequence[Detached] = (),
    arguments: Json = None,
) -> tuple[Finding, ...]:
    """Return what is proven of an event: its body, its position in its stream and in a log.

    A finding about each statement of a monitor follows. Without `at` the times of others are not compared.
    `arguments` are those whose digest the event names.
    """
    refused = [*map(alone, statements)]
    if event.startswith(_EVENTS_JSON):
        detail = "these events have no salts and hashes to check; use `foja log export` instead"
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.UNKNOWN_PROOF, detail), *refused
    if len(event) > LARGEST_EVENT:
        detail = f"the file is over {LARGEST_EVENT:,} bytes: larger than any event"
        return Finding(EVIDENCE, Status.UNSUPPORTED, Reason.TOO_LARGE, detail), *refused
    try:
        excerpt = parse_excerpt(event)
        inclusion = _find_inclusion(proof, [excerpt.check()], trust)
    except BadBundle as error:
        return refusal(EVIDENCE, error), *refused
    except Tampered as error:
        return Finding(EVIDENCE, Status.INVALID, Reason.INCLUSION_INVALID, str(error)), *refused
    what = f"event {excerpt.seq} of {excerpt.entity_id} matches its hashes and is"
    shown, contents = (_shown(excerpt),), as_of(contents_of(excerpt, arguments), inclusion)
    found = _finding(what, inclusion, NOT_CHECKED, shown, contents)
    heads = {excerpt.entity_id: (excerpt.seq + 1, excerpt.chain_hash)}
    found, *monitors = judge_others(found, [inclusion], heads, statements, trust, at)
    but = "but its body is erased or withheld: its author, its source and its content are not known"
    return beside(found.weakened(Reason.BODY_ERASED, but) if excerpt.erased else found, monitors)


def check_history(
    chunks: Iterable[bytes],
    proof: bytes | None,
    trust: Trust,
    domain: str | None = None,
    at: datetime | None = None,
    statements: Sequence[Detached] = (),
) -> tuple[Finding, ...]:
    """Return what is proven of a history: every body, number and link, and its last event in a log.

    A finding about each statement of a monitor follows. `domain` is that of a history that does not name it,
    if it is not one of Foja. Without `at` the times of others are not compared.
    """
    summary: HistorySummary | None = None
    marks = Marks(statements)
    refused = [*map(alone, statements)]
    try:
        summary = _read(history.split(chunks), domain, marks)
        if proof is None:
            detail = f"{summary.events} events without a gap; no proof shows that they are in a log"
            found = Finding(EVIDENCE, Status.PENDING, Reason.NO_CHECKPOINT, detail, history=summary.ends)
            return replace(found, contents=summary.contents), *refused
        if len(summary.heads) > 1 and not any(summary.kinds <= known for known in KINDS.values()):
            detail = "the history does not name its domain, and it is not one of Foja; name it with --domain"
            return Finding(EVIDENCE, Status.INDETERMINATE, Reason.UNKNOWN_DOMAIN, detail), *refused
        ends = [leaf_entry(summary.entity_id, summary.events - 1, head) for head in summary.heads.values()]
        inclusion = _find_inclusion(proof, ends, trust)
    except BadBundle as error:
        return _refusal(error, summary), *refused
    what = f"{summary.events} events of {summary.entity_id} without a gap; the last is"
    erased = f"{len(summary.erased)} bodies: erased or withheld, only their hashes are present"
    notices = (*NOT_CHECKED, NOT_COVERED, *((erased,) if summary.erased else ()))
    found = _finding(what, inclusion, notices, summary.ends, as_of(summary.contents, inclusion))
    heads = {summary.entity_id: (summary.events, summary.head_in(inclusion))}
    found, *monitors = judge_others(found, [inclusion], heads, statements, trust, at, marks)
    but = f"but {len(summary.withheld)} bodies are withheld: no event records that they were erased"
    return beside(found.weakened(Reason.BODY_ERASED, but) if summary.withheld else found, monitors)


def _refusal(error: BadBundle, summary: HistorySummary | None) -> Finding:
    """Return the finding about a refused history; one that was cut says which event is missing at its end."""
    found = refusal(EVIDENCE, error)
    if summary is None or found.reason is not Reason.INCLUSION_INVALID:
        return found
    last = summary.events - 1
    cut = (
        f"the proof is not about event {last}, the last one shown: event {last + 1} or a later one is missing"
    )
    return replace(found, detail=f"{cut}, or the proof is about another history ({found.detail})")


def as_of(contents: Contents, inclusion: Inclusion) -> Contents:
    """Return the contents with the size of the checkpoint that covers them, if a trusted key signed it."""
    return replace(contents, size=inclusion.checkpoint.size if inclusion.signer else None)


@paused()
def _read(lines: Iterator[bytes], domain: str | None, marks: Marks) -> HistorySummary:
    first = next(lines, b"")
    if _BARE.match(first):
        domains, entity_id, lines = [domain] if domain else [*KINDS], _entity_id(first), chain([first], lines)
    else:
        named, entity_id = history.read_heading(first)
        if domain not in (None, named):
            detail = f"the history is of the domain {quoted(named)}, not {quoted(domain or '')}"
            raise BadBundle("INCLUSION_INVALID", detail)
        domains = [named]
    heads, kinds, count = {each: genesis(each, entity_id) for each in domains}, set[str](), 0
    erased, recorded, others = set[int](), set[int | None](), len(domains) > 1
    ends, contents = list[Excerpt](), ContentsReader()
    decoded = history.decode(domains[0], entity_id, contents.measuring(in_rounds(lines)))
    for event in decoded if others else marks.passing(decoded):  # a hash is that of one domain
        ends[1:] = [event]
        contents.take(event)
        heads = {each: event.hash_after(head) for each, head in heads.items()} if others else heads
        heads[domains[0]] = event.chain_hash
        kinds.add(event.kind)
        count += 1
        if event.erased:
            erased.add(event.seq)
        else:
            recorded.add(_recorded_erasure(event))
    if not count:
        raise BadBundle("LEDGER_GAP", "the history has no event")
    shown = tuple(map(_shown, ends))
    said = contents.contents(entity_id, None if others else domains[0])
    return HistorySummary(entity_id, count, erased, heads, kinds, erased - recorded, shown, said)


def _shown(event: Excerpt) -> ShownEvent:
    return ShownEvent(event.seq, event.kind, moment(event.at_us))


def _recorded_erasure(event: Excerpt) -> int | None:
    """Return the number of the event that this one records as erased."""
    if event.kind != BODY_ERASED.name or not isinstance(event.payload, dict):
        return None
    seq = event.payload.get("seq")
    return seq if isinstance(seq, int) else None


def _entity_id(line: bytes) -> UUID:
    """Return the stream of the first event; the others must be of the same stream."""
    try:
        document = parse(line)
        event = document.get("event") if isinstance(document, dict) else None
        return UUID(str(event.get("entity_id") if isinstance(event, dict) else None))
    except (NotCanonical, ValueError) as error:
        raise BadBundle("MALFORMED", f"line 0 of the history is not an event ({error})") from None


def _find_inclusion(proof: bytes, entries: Sequence[bytes], trust: Trust) -> Inclusion:
    find = find_receipt if proof.startswith(RECEIPT) else find_inclusion
    return find(proof, entries, trust, "the log proof")


def _finding(
    what: str,
    inclusion: Inclusion,
    not_checked: tuple[str, ...],
    shown: tuple[ShownEvent, ...],
    contents: Contents,
) -> Finding:
    if inclusion.signer is None:
        return replace(unsigned(inclusion), history=shown, contents=contents)
    checkpoint = inclusion.checkpoint
    place = f"entry {inclusion.proof.index} of {quoted(checkpoint.origin)}"
    detail = f"{what} {place}, signed at {checkpoint.size} entries"
    rests_on = (log_item(inclusion),)
    return Finding(
        EVIDENCE,
        Status.VERIFIED,
        detail=detail,
        not_checked=not_checked,
        rests_on=rests_on,
        history=shown,
        contents=contents,
    )
