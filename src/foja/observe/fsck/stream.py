"""One stream, number by number: every event there, in its place, and led to by the one before.

After a break the chain is taken up again from what was recorded, so each event
that was touched is named, and not its innocent successors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from foja.core.chain import genesis, step
from foja.errors import NotCanonical
from foja.observe.findings import Anomalies
from foja.observe.fsck import body
from foja.observe.fsck.rows import EventRow, PlaceRow, StreamRow
from foja.observe.logs import LogState
from foja.observe.snapshot import Snapshot

NO_LIMIT = 2**63
LAST = 2**31


@dataclass(frozen=True, slots=True)
class Rules:
    """What every stream of an installation is checked against."""

    erasable: frozenset[tuple[str, str, int]]
    logs: Mapping[int, LogState]


async def read_rules(moment: Snapshot, logs: Sequence[LogState]) -> Rules:
    """Return what the streams are checked against at this moment."""
    erasable = frozenset([(row[0], row[1], row[2]) async for row in moment.rows("fsck_erasable")])
    return Rules(erasable, {log.origin: log for log in logs})


class StreamCheck:
    """Follows one stream and notes what does not fit; remembers only the last link."""

    def __init__(self, entity_id: UUID, stream: StreamRow | None, rules: Rules, findings: Anomalies) -> None:
        self._entity_id, self._stream, self._rules, self._findings = entity_id, stream, rules, findings
        self._sealed = stream.sealed if stream else NO_LIMIT
        self._ends = stream.next_seq if stream else NO_LIMIT
        # The digests that may lead to the next event: one, two after a break, none if unknown.
        self._before = [genesis(stream.domain, entity_id)] if stream else []
        self._next = 0
        self._missing: tuple[int, int] | None = None
        self._last_place = (-1, -1)

    def check(self, seq: int, sheets: Sequence[EventRow], places: Sequence[PlaceRow]) -> None:
        """Check one number with all that is recorded about it; numbers come in order."""
        if self._stream is None and self._next == 0:
            self._add("entity", seq, "a row of its stream in foja.entity", "none; the rest of it is left")
        self._pass_over(seq)
        self._next = seq + 1
        chained = [place for place in places if self._counts(place)]
        if sheets:
            self._check_present(sheets, places, chained)
        elif [place.what for place in places] != ["open"]:
            self._miss(seq, seq + 1)
            self._go_on_from(seq, chained)
        else:
            self._report_missing()

    def end(self) -> None:
        """Compare what was found with what the stream's own row says."""
        if self._stream:
            self._pass_over(self._ends if self._stream.lane == "postgres" else self._sealed)
            self._check_counters(self._stream)
        self._report_missing()

    def _check_counters(self, stream: StreamRow) -> None:
        if self._sealed > self._ends:
            self._add("entity", None, f"at most {self._ends} sealed events", str(self._sealed))
        if self._before and stream.head not in self._before:
            head, leads = stream.head.hex(), self._before[-1].hex()
            self._add("head", max(self._sealed - 1, 0), f"the head {leads}, where its events lead", head)

    def _check_present(
        self, sheets: Sequence[EventRow], places: Sequence[PlaceRow], chained: Sequence[PlaceRow]
    ) -> None:
        self._report_missing()
        sheet = sheets[0]
        if len(sheets) > 1:
            self._add("duplicate", sheet.seq, "one event with this number", f"{len(sheets)}")
        self._check_alone(sheet)
        if sheet.seq < self._sealed:
            self._check_places(sheet.seq, chained)
            self._check_chain(sheet, chained)
        else:
            self._check_waiting(sheet.seq, {place.what for place in places}, chained)

    def _check_alone(self, sheet: EventRow) -> None:
        stream = self._stream
        erasable = stream is None or (stream.domain, sheet.kind, sheet.v) in self._rules.erasable
        for check, expected, found in body.problems(sheet, erasable=erasable):
            self._add(check, sheet.seq, expected, found)
        if stream and sheet.tenant != stream.tenant:
            self._add("tenant", sheet.seq, f"the tenant {stream.tenant!r} of its stream", repr(sheet.tenant))

    def _check_places(self, seq: int, chained: Sequence[PlaceRow]) -> None:
        if len(chained) != 1:
            self._add("place", seq, "one place in the log or its outbox", str(len(chained) or "none"))
        for place in chained:
            here = (place.origin or LAST, place.idx or 0)
            if here <= self._last_place:
                self._add("order", seq, "a place in the log after its predecessor's", str(place))
            self._last_place = here

    def _check_chain(self, sheet: EventRow, chained: Sequence[PlaceRow]) -> None:
        links = self._links(sheet)
        recorded = chained[0].chain_hash if chained else None
        if recorded is None:
            self._before = links[:1]
        elif recorded in links or not links:
            self._before = [recorded]
        else:
            said = "the event itself, its number, id, kind, time or body hash, leads elsewhere"
            self._add(
                "chain", sheet.seq, f"{recorded.hex()}, as in {chained[0]}", f"{said} ({links[0].hex()})"
            )
            self._before = [recorded, links[0]]

    def _links(self, sheet: EventRow) -> list[bytes]:
        try:
            return [self._link(before, sheet) for before in self._before]
        except NotCanonical as error:
            self._add("chain", sheet.seq, "an event that can be chained", str(error))
            return []

    def _link(self, before: bytes, sheet: EventRow) -> bytes:
        if sheet.at_us is None:
            raise NotCanonical("its time is infinite")
        return step(
            before, sheet.entity_id, sheet.seq, sheet.event_id, sheet.kind, sheet.at_us, sheet.body_hash
        )

    def _check_waiting(self, seq: int, recorded: set[str], chained: Sequence[PlaceRow]) -> None:
        """Check that an event above the sealed prefix came in through the ledger."""
        if seq >= self._ends:
            self._add(
                "unknown", seq, f"no event from number {self._ends} on", "one that its stream never gave"
            )
        elif "unsealed" not in recorded:
            self._add("unknown", seq, "an event on the list of those to be sealed", "one that is not on it")
        elif "open" in recorded:
            self._add("unknown", seq, "nothing in a slot that is still open", "an event")
        if chained:
            self._add("place", seq, "no place in the log before it is sealed", str(chained[0]))

    def _counts(self, place: PlaceRow) -> bool:
        """Is this a place in the log that was not given up by a restart?"""
        if place.what != "leaf":
            return place.what == "pending"
        log = self._rules.logs.get(place.origin or 0)
        return log is not None and (place.idx or 0) < log.proven

    def _pass_over(self, seq: int) -> None:
        """Go on to `seq`; nothing at all is recorded about the numbers before it."""
        if seq > self._next:
            postgres = self._stream is None or self._stream.lane == "postgres"
            self._miss(self._next, min(seq, self._ends if postgres else self._sealed))
            self._go_on_from(self._next, [])
            self._next = seq

    def _miss(self, low: int, high: int) -> None:
        """Take note of missing numbers; a run of them is one finding."""
        if low < high:
            self._missing = (self._missing[0] if self._missing else low, high)

    def _report_missing(self) -> None:
        if self._missing:
            low, high = self._missing
            self._missing = None
            self._add("missing", low, "an event", "none" if high == low + 1 else f"none up to {high - 1}")

    def _go_on_from(self, seq: int, chained: Sequence[PlaceRow]) -> None:
        if seq < self._sealed:
            self._before = [place.chain_hash for place in chained[:1] if place.chain_hash]

    def _add(self, check: str, seq: int | None, expected: str, found: str) -> None:
        self._findings.add(check, expected=expected, found=found, entity_id=self._entity_id, seq=seq)
