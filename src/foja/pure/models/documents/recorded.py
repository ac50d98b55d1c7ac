"""A document's history with the proofs that its events recorded: bundles and the judge use both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from foja.pure.core.bundle.record import Record, recorded
from foja.pure.core.excerpt import Excerpt, moment
from foja.pure.models.documents.events import Fact
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.signatures import SIGNED


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """The state that the events of a stream lead to, and every proof that they recorded."""

    history: History
    records: Mapping[int, Record]  # by the number of the event, in the order of the ledger
    ends: tuple[Fact, ...]  # the first and the last event
    signed: tuple[Fact, ...]  # the events that record a signature

    def lost(self, seq: int) -> int | None:
        """Return the event that took the proof of this event back, if one did."""
        record = self.records.get(seq)
        by = self.history.lost.get((record.evidence, record.witness_hash)) if record else None
        return by if by is not None and by > seq else None


def read_records(events: Iterable[Excerpt]) -> RecordedHistory:
    """Read a stream once, in order; its events may come from a generator that checks them."""
    records: dict[int, Record] = {}
    ends: list[Fact] = []
    signed: list[Fact] = []

    def facts() -> Iterator[Fact]:
        for event in events:
            if record := recorded(event):
                records[event.seq] = record
            fact = Fact(event.seq, event.kind, moment(event.at_us), event.payload)
            ends[1:] = [fact]
            if event.kind == SIGNED:
                signed.append(fact)
            yield fact

    return RecordedHistory(read(facts()), records, tuple(ends), tuple(signed))
