"""When things happened: events by the clock of their ledger, proofs by the clock of who attests them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from foja.pure.judge.render.translations import text
from foja.pure.judge.render.words import kind_name, say_limit, say_source, say_time
from foja.pure.judge.report import Report
from foja.pure.proofs.finding import ShownEvent, Status
from foja.pure.quotation import quoted

_EVENTS = {
    "document.added": "event_added",
    "document.protected.requested": "event_requested",
    "document.revoked": "event_revoked",
}
EVENT, PROOF, REVOKED, JUDGED = "event", "proof", "revoked", "judged"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the timeline: when, what, according to whom, and how it is marked."""

    at: datetime
    time: str
    what: str
    source: str
    mark: str  # event | proof | revoked | judged


def timeline(report: Report, language: str) -> list[Entry]:
    """Return the entries in order of time."""
    return sorted(_entries(report, language), key=lambda each: each.at)


def _entries(report: Report, language: str) -> Iterator[Entry]:
    for event in report.history:
        mark = REVOKED if event.kind == "document.revoked" else EVENT
        time, source = say_time(event.at, language), _event_source(report, event, language)
        yield Entry(event.at, time, _event(report, event, language), source, mark)
    for each in report.evidence if report.earliest else ():  # no time is claimed if any proof is invalid
        if each.status is Status.VERIFIED and each.no_later_than:
            source = text("existed", language, source=say_source(each, language))
            time, what = say_limit(each, language), kind_name(each, language)
            yield Entry(each.no_later_than, time, what, source, PROOF)
    yield Entry(report.at, say_time(report.at, language), text("judged", language), "", JUDGED)


def _event(report: Report, event: ShownEvent, language: str) -> str:
    last = "event_last" if event == report.last_event else "event_first"
    return text(_EVENTS.get(event.kind, last), language, kind=quoted(event.kind))


def _event_source(report: Report, event: ShownEvent, language: str) -> str:
    source = text("event_source", language, seq=event.seq)
    return source if report.proves_history else f"{source}, {text('event_unproven', language)}"
