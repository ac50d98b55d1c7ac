"""Check one stream, number by number: none is missing, bodies match hashes, each continues the chain.

After a break the check continues with the recorded chain hash, so it names each
event that was changed, and not the events after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import Anomalies
from foja.engine.observe.fsck.rows import EventRow, PlaceRow, StreamRow
from foja.engine.observe.logs import LogState
from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical, parse
from foja.pure.core.chain import genesis, step
from foja.pure.core.event import body_bytes, body_hash, event_id_for

NO_LIMIT = 2**63
LAST = 2**31
RECORDED = "the body that was recorded"
Problem = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Rules:
    """What every stream of an installation is checked against."""

    kinds: Mapping[tuple[str, str, int], bool]  # whether its body may be erased
    logs: Mapping[int, LogState]


async def read_rules(moment: Snapshot, logs: Sequence[LogState]) -> Rules:
    """Return the rules in this snapshot."""
    kinds = {(domain, kind, v): erasable async for domain, kind, v, erasable in moment.rows("fsck_kinds")}
    return Rules(kinds, {log.origin: log for log in logs})


class StreamCheck:
    """Reads one stream and adds findings. It holds only the last chain hash in memory."""

    def __init__(self, entity_id: UUID, stream: StreamRow | None, rules: Rules, findings: Anomalies) -> None:
        self._entity_id, self._stream, self._rules, self._findings = entity_id, stream, rules, findings
        self._sealed = stream.sealed if stream else NO_LIMIT
        self._ends = stream.next_seq if stream else NO_LIMIT
        # The chain hashes that the next event may continue: one, two after a break, none if unknown.
        self._before = [genesis(stream.domain, entity_id)] if stream else []
        self._next = 0
        self._missing: tuple[int, int] | None = None
        self._last_position = (-1, -1)

    def check(self, seq: int, events: Sequence[EventRow], places: Sequence[PlaceRow]) -> None:
        """Check one number with everything that is recorded about it. Numbers must come in order."""
        if self._stream is None and self._next == 0:
            self._add("entity", seq, "a row of its stream in foja.entity", "none, but other rows of it")
        self._skip_to(seq)
        self._next = seq + 1
        chained = [place for place in places if self._counts(place)]
        if events:
            self._check_present(events, places, chained)
        elif [place.what for place in places] != ["open"]:
            self._miss(seq, seq + 1)
            self._continue_from(seq, chained)
        else:
            self._report_missing()

    def end(self) -> None:
        """Compare the events with the row of the stream."""
        if self._stream:
            self._skip_to(self._ends if self._stream.lane == "postgres" else self._sealed)
            self._check_counters(self._stream)
        self._report_missing()

    def _check_counters(self, stream: StreamRow) -> None:
        if self._sealed > self._ends:
            self._add("entity", None, f"at most {self._ends} sealed events", str(self._sealed))
        if self._before and stream.head not in self._before:
            expected = f"the head {self._before[-1].hex()}, by its events"
            self._add("head", max(self._sealed - 1, 0), expected, stream.head.hex())

    def _check_present(
        self, events: Sequence[EventRow], places: Sequence[PlaceRow], chained: Sequence[PlaceRow]
    ) -> None:
        self._report_missing()
        event = events[0]
        if len(events) > 1:
            self._add("duplicate", event.seq, "one event with this number", f"{len(events)}")
        self._check_alone(event)
        if event.seq < self._sealed:
            self._check_places(event.seq, chained)
            self._check_chain(event, chained)
        else:
            self._check_waiting(event.seq, {place.what for place in places}, chained)
        self._check_kind(event)

    def _check_kind(self, event: EventRow) -> None:
        """Check last that the domain has this kind: a changed row is named by its body or chain first."""
        stream = self._stream
        if stream and (stream.domain, event.kind, event.v) not in self._rules.kinds:
            expected = f"a kind of the domain {stream.domain!r} of its stream"
            self._add("kind", event.seq, expected, f"{event.kind} v{event.v}")

    def _check_alone(self, event: EventRow) -> None:
        stream = self._stream
        erasable = stream is None or self._rules.kinds.get((stream.domain, event.kind, event.v), False)
        for check, expected, found in _problems(event, erasable=erasable):
            self._add(check, event.seq, expected, found)
        if stream and event.tenant != stream.tenant:
            self._add("tenant", event.seq, f"the tenant {stream.tenant!r} of its stream", repr(event.tenant))

    def _check_places(self, seq: int, chained: Sequence[PlaceRow]) -> None:
        if len(chained) != 1:
            self._add("place", seq, "one leaf in the log or the outbox", str(len(chained) or "none"))
        for place in chained:
            position = (place.origin or LAST, place.idx or 0)
            if position <= self._last_position:
                self._add("order", seq, "a leaf after the one of its predecessor", str(place))
            self._last_position = position

    def _check_chain(self, event: EventRow, chained: Sequence[PlaceRow]) -> None:
        links = self._links(event)
        recorded = chained[0].chain_hash if chained else None
        if recorded is None:
            self._before = links[:1]
        elif recorded in links or not links:
            self._before = [recorded]
        else:
            changed = "another number, id, kind, time or body hash"
            self._add(
                "chain", event.seq, f"{recorded.hex()}, as in {chained[0]}", f"{changed} ({links[0].hex()})"
            )
            self._before = [recorded, links[0]]

    def _links(self, event: EventRow) -> list[bytes]:
        """Return the chain hashes of an event after each of those it may continue."""
        try:
            if event.at_us is None:
                raise NotCanonical("its time is infinite")
            own = (event.entity_id, event.seq, event.event_id, event.kind, event.at_us, event.body_hash)
            return [step(before, *own) for before in self._before]
        except NotCanonical as error:
            self._add("chain", event.seq, "an event that can be chained", str(error))
            return []

    def _check_waiting(self, seq: int, recorded: set[str], chained: Sequence[PlaceRow]) -> None:
        """Check that an event above the sealed prefix was recorded by the ledger."""
        if seq >= self._ends:
            self._add(
                "unknown", seq, f"no event from number {self._ends} on", "a number that was never given"
            )
        elif "unsealed" not in recorded:
            self._add("unknown", seq, "an event with a row in foja.unsealed", "an event without one")
        elif "open" in recorded:
            self._add("unknown", seq, "no event in an open slot", "an event")
        if chained:
            self._add("place", seq, "no leaf before it is sealed", str(chained[0]))

    def _counts(self, place: PlaceRow) -> bool:
        """Return whether this is a row of the outbox, or a leaf that no restart discarded."""
        if place.what != "leaf":
            return place.what == "pending"
        log = self._rules.logs.get(place.origin or 0)
        return log is not None and (place.idx or 0) < log.proven

    def _skip_to(self, seq: int) -> None:
        """Continue at `seq`. Nothing is recorded about the numbers before it."""
        if seq > self._next:
            postgres = self._stream is None or self._stream.lane == "postgres"
            self._miss(self._next, min(seq, self._ends if postgres else self._sealed))
            self._continue_from(self._next, [])
            self._next = seq

    def _miss(self, low: int, high: int) -> None:
        """Note missing numbers. A range of them is one finding."""
        if low < high:
            self._missing = (self._missing[0] if self._missing else low, high)

    def _report_missing(self) -> None:
        if self._missing:
            low, high = self._missing
            self._missing = None
            self._add("missing", low, "an event", "none" if high == low + 1 else f"none up to {high - 1}")

    def _continue_from(self, seq: int, chained: Sequence[PlaceRow]) -> None:
        if seq < self._sealed:
            self._before = [place.chain_hash for place in chained[:1] if place.chain_hash]

    def _add(self, check: str, seq: int | None, expected: str, found: str) -> None:
        self._findings.add(check, expected=expected, found=found, entity_id=self._entity_id, seq=seq)


def _problems(event: EventRow, *, erasable: bool) -> Iterator[Problem]:
    """Yield every problem of an event, as check, expected and found."""
    yield from _erasure_problems(event, erasable) if event.payload is None else _body_problems(event)
    if event.key is not None and event_id_for(event.entity_id, event.key) != event.event_id:
        yield "id", f"the id derived from its key {event.key!r}", str(event.event_id)


def _erasure_problems(event: EventRow, erasable: bool) -> Iterator[Problem]:
    if event.salt is not None or event.actor is not None:
        yield "body", RECORDED, "no payload, but a salt or an actor"
    elif not erasable:
        yield "body", RECORDED, f"none, and a {event.kind} may not be erased"
    elif not event.witnessed:
        yield "body", RECORDED, "none, and no body.erased event that names it"


def _body_problems(event: EventRow) -> Iterator[Problem]:
    assert event.payload is not None
    if event.salt is None:
        yield "body", RECORDED, "a payload without its salt"
        return
    payload = event.payload.encode()
    try:
        if canonical(parse(payload)) != payload:
            yield "canonical", "a payload in canonical form", "another form of it"
        computed = body_hash(event.salt, body_bytes(event.actor, payload, event.source, event.v))
    except NotCanonical as error:
        yield "canonical", "a payload in canonical form", str(error)
        return
    if computed != event.body_hash:
        changed = "another payload, actor, source, version, salt or body hash"
        yield "body", f"{RECORDED}, with the hash {event.body_hash.hex()}", f"{changed} ({computed.hex()})"
