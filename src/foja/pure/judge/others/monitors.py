"""Judge monitors' statements about the heads of streams, and say whether others see the same log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias
from uuid import UUID

from foja.errors import Refused, Tampered
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.note import FIRST, number_of, open_note, split_note
from foja.pure.judge.detached import Detached
from foja.pure.judge.inclusion import OTHERS, Inclusion
from foja.pure.judge.others.cosigners import count_cosigners
from foja.pure.judge.trust import Trust
from foja.pure.proofs.finding import Finding, Reason, Status, TrustItem
from foja.pure.proofs.monitor_statement import MonitorStatement, parse_monitor_statement
from foja.pure.quotation import quoted

EVIDENCE = "monitor"
RESTARTED = "whether this log, a restart, continues the one before it"
LATER = "what the log recorded after the monitor looked"
ALONE = "a monitor's statement counts only beside the stream that it is about, in a log that you trust"
_SKEW = timedelta(minutes=5)  # how far the clock of a monitor may be ahead of the time to judge at

Heads: TypeAlias = Mapping[UUID, tuple[int, bytes]]  # of each stream: how many events, and the last hash


class Marks:
    """The hashes of those events of a history that statements name, wherever they stand in it."""

    def __init__(self, statements: Sequence[Detached] = ()) -> None:
        self._wanted = {(each.entity_id, each.events - 1) for each in _parsed(statements)}
        self._found = dict[tuple[UUID, int], bytes]()

    def passing(self, events: Iterable[Excerpt]) -> Iterator[Excerpt]:
        """Yield the events as they are, and keep the hashes that are wanted."""
        for event in events:
            if (event.entity_id, event.seq) in self._wanted:
                self._found[event.entity_id, event.seq] = event.chain_hash
            yield event

    def contradict(self, statement: MonitorStatement) -> bool:
        """Return whether the event that a statement names has another hash here."""
        return self._found.get((statement.entity_id, statement.events - 1), statement.head) != statement.head


def _parsed(statements: Sequence[Detached]) -> Iterator[MonitorStatement]:
    for each in statements:
        with suppress(Tampered, Refused):
            yield parse_monitor_statement(each.data)


class Judged(NamedTuple):
    """What a statement shows, its stream, and whether it names a later event than the last one here."""

    found: Finding
    stream: UUID | None = None
    continued: bool = False


def judge_others(
    found: Finding,
    inclusions: Sequence[Inclusion],
    heads: Heads,
    statements: Sequence[Detached],
    trust: Trust,
    at: datetime | None,
    marks: Marks | None = None,
) -> tuple[Finding, ...]:
    """Return the finding about a history with what others say of its log, and one about each statement.

    Others see the same log if enough cosigners vouch for its checkpoints, because they see one tree, and a
    monitor for the head of each stream, because it reads what is in the tree.
    """
    counted = count_cosigners(found, inclusions, trust, at)
    if counted.status is not Status.VERIFIED:
        return (counted, *map(alone, statements))
    agreed = trust.cosigner_policy is not None
    judged = [_judge(each, inclusions, heads, trust, at, marks or Marks()) for each in statements]
    findings = _about_all(judged, heads)
    vouched = any(each.status is Status.VERIFIED for each in findings)
    open_ = [each for each in counted.not_checked if each != OTHERS or not (agreed and vouched)]
    open_ += [] if (agreed and vouched) or OTHERS in open_ else [OTHERS]
    open_ += [] if agreed or all(_is_known(each, trust) for each in inclusions) else [RESTARTED]
    if tuple(open_) != counted.not_checked:
        counted = replace(counted, not_checked=tuple(open_))
    return (counted, *findings)


def alone(statement: Detached) -> Finding:
    """Return the finding about a statement without a verified history."""
    return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NOT_VOUCHED, ALONE, name=statement.name)


def beside(ledger: Finding, monitors: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return both; no statement counts beside a history that is not verified after all."""
    if ledger.status is Status.VERIFIED:
        return (ledger, *monitors)
    return (
        ledger,
        *(each.weakened(Reason.NOT_VOUCHED, "but its history is not verified") for each in monitors),
    )


def _is_known(inclusion: Inclusion, trust: Trust) -> bool:
    """Return whether a log is no restart, or one that the trust names."""
    name, origin = (inclusion.signer or "").partition("+")[0], inclusion.checkpoint.origin
    return number_of(name, origin) == FIRST or origin in trust.restarts


def _judge(
    file: Detached,
    inclusions: Sequence[Inclusion],
    heads: Heads,
    trust: Trust,
    at: datetime | None,
    marks: Marks,
) -> Judged:
    """Return what one statement shows."""
    try:
        statement = parse_monitor_statement(file.data)
        found = _check_signed(file.data.decode(), statement, trust)
    except (Tampered, Refused) as error:
        found = Finding(EVIDENCE, Status.INVALID, Reason.MONITOR_INVALID, str(error))
        return Judged(replace(found, name=file.name))
    continued = False
    if found.status is Status.VERIFIED and _is_shown(statement, inclusions, heads):
        events, _ = heads[statement.entity_id]
        continued = statement.events > events
        found = _compare(found, statement, *heads[statement.entity_id], marks)
    elif found.status is Status.VERIFIED:
        found = found.weakened(Reason.NOT_VOUCHED, "but this is another stream or log")
    if found.status is Status.VERIFIED and at is not None and statement.moment > at + _SKEW:
        found = found.weakened(Reason.AFTER_VALIDATION_TIME, "which is after the validation time")
    return Judged(replace(found, name=file.name), statement.entity_id, continued)


def _check_signed(note: str, statement: MonitorStatement, trust: Trust) -> Finding:
    """Return the finding about who signed, or raise `Tampered`. No log vouches for itself."""
    own = {each.public_key for each in trust.logs}
    keys = [each for each in trust.monitors if each.public_key not in own]
    known = {(each.name, each.key_id): each for each in keys}
    signatures = split_note(note)[1]
    signer = next(filter(None, (known.get((each.name, each.key_id)) for each in signatures)), None)
    if signer is None:
        first = signatures[0]
        missing = (TrustItem(EVIDENCE, first.name, f"{first.name}+{first.key_id.hex()}"),)
        detail = "no monitor you trust made this statement"
        return Finding(EVIDENCE, Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, detail, missing=missing)
    open_note(note, keys)
    size, log = statement.checkpoint.size, quoted(statement.checkpoint.origin)
    time = f"{statement.moment:%Y-%m-%dT%H:%M:%SZ}"
    detail = (
        f"the monitor {quoted(signer.name)} found event {statement.events - 1} as the last one of"
        f" {statement.entity_id}, each number once, in {size} entries of {log},"
        f" on {time}"
    )
    item = TrustItem(EVIDENCE, signer.name, f"{signer.name}+{signer.key_id.hex()}")
    return Finding(EVIDENCE, Status.VERIFIED, detail=detail, not_checked=(LATER,), rests_on=(item,))


def _is_shown(statement: MonitorStatement, inclusions: Sequence[Inclusion], heads: Heads) -> bool:
    """Return whether a statement is about a stream and a log of what is judged."""
    names = {(each.signer or "").partition("+")[0] for each in inclusions}
    in_log = any(number_of(name, statement.checkpoint.origin) for name in names)
    return in_log and statement.entity_id in heads


def _compare(found: Finding, statement: MonitorStatement, events: int, head: bytes, marks: Marks) -> Finding:
    """Return the finding as it is if the statement is about the last event that is shown."""
    last = statement.events == events
    if marks.contradict(statement) or (last and statement.head != head):
        detail = f"{found.detail}; that event has another hash here: the log has shown two histories"
        return Finding(EVIDENCE, Status.INVALID, Reason.MONITOR_CONTRADICTS, detail)
    if not last:
        return found.weakened(Reason.NOT_VOUCHED, f"but event {events - 1} is the last one here")
    return found


def _about_all(judged: Sequence[Judged], heads: Heads) -> list[Finding]:
    """Return the findings; none is verified unless each of the streams has one that is, and is not longer."""
    vouched = {each.stream for each in judged if each.found.status is Status.VERIFIED}
    longer = {each.stream for each in judged if each.continued}
    missing = sorted(str(each) for each in heads.keys() - vouched)
    findings = [each.found for each in judged]
    if longer:
        but = "but another statement names a later event of the stream"
        findings = [each.weakened(Reason.NOT_VOUCHED, but) for each in findings]
    if missing:
        but = f"but no statement is about {missing[0]}, which is in the bundle too"
        findings = [each.weakened(Reason.NOT_VOUCHED, but) for each in findings]
    return findings
