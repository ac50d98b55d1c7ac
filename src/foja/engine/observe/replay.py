"""Replay every document and compare its events with the tables derived from them.

There are two kinds of tables: the list entries, which may be behind the events, and those that the
guards and the sweeper use, which never are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import Anomalies
from foja.pure.models.documents.events import Evidence, Fact
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.projection import predecessor, summary
from foja.pure.models.documents.track import moment as parse_moment

LISTED, TRACKED = "summary", "track"
COLUMNS = ("state", "pipeline", "lifecycle_status", "witness_hash", "length", "failed")
Name = tuple[str, str, int]  # evidence, witness, attempt; the witness of an artifact is left empty


class AttemptRow(NamedTuple):
    """An attempt as the guards and the sweeper need it."""

    asked_seq: int
    deadline: datetime
    open: bool
    confirmed: bool  # is its evidence confirmed, by this attempt or another?
    submitted_seq: int | None

    def __str__(self) -> str:
        state = "confirmed" if self.confirmed else "open" if self.open else "ended"
        submitted = f", submitted by event {self.submitted_seq}" if self.submitted_seq is not None else ""
        return f"{state}, opened by event {self.asked_seq}{submitted}, until {self.deadline.isoformat()}"


class DocumentRow(NamedTuple):
    """An event of a document; only the first has what the tables say about the document."""

    document: UUID
    seq: int
    kind: str
    at: datetime
    payload: Any
    listed: Mapping[str, Any] | None  # its list entry
    known: Mapping[str, Any] | None  # its row for the guards
    attempts: Sequence[Mapping[str, Any]] | None


async def check_documents(moment: Snapshot, findings: Anomalies) -> None:
    """Replay every document and add every difference to the findings."""
    async for rows in moment.groups("audit_documents", attrgetter("document"), DocumentRow):
        _compare(rows[0], [Fact(row.seq, row.kind, row.at, row.payload) for row in rows], findings)


def _compare(first: DocumentRow, facts: Sequence[Fact], findings: Anomalies) -> None:
    document = first.document
    if facts[0].seq != 0:
        return  # a gap, which the audit reports as such
    if first.listed:
        _compare_list(document, first.listed, facts, findings)
    history = read(facts)
    _compare_guards(document, first.known or {}, history, facts, findings)
    _compare_attempts(document, first.attempts or [], history, findings)


def _compare_list(
    document: UUID, listed: Mapping[str, Any], facts: Sequence[Fact], findings: Anomalies
) -> None:
    derived = summary(facts[: listed["length"]])
    expected, found = ([row[name] for name in COLUMNS] for row in (derived, listed))
    if expected != found:
        texts = [", ".join(map(str, each)) for each in (expected, found)]
        findings.add(LISTED, expected=f"a list entry of {texts[0]}", found=texts[1], entity_id=document)


def _compare_guards(
    document: UUID, known: Mapping[str, Any], history: History, facts: Sequence[Fact], findings: Anomalies
) -> None:
    expected, found = _last_request(history, facts), dict(known)
    found["stage"] = found.get("stage") or ("final" if found.get("requested_seq") is not None else None)
    found["required_evidence"] = sorted(found.get("required_evidence") or [])
    found["renew_before"] = _moment(found.get("renew_before"))
    for name, value in expected.items():
        if found.get(name) != value:
            findings.add(
                TRACKED,
                expected=f"{name} {value} in foja.document",
                found=str(found.get(name)),
                entity_id=document,
            )


def _last_request(history: History, facts: Sequence[Fact]) -> dict[str, Any]:
    last = history.last
    sealed = [fact for fact in facts if fact.kind in ("artifact.finalized", "artifact.renewed")]
    return {
        "added_seq": 0 if facts[0].kind == "document.added" else None,
        "witness_hash": history.witness,
        "witness_status": history.witness_status.value,
        "stage": last.stage.value if last else None,
        "required_evidence": sorted(last.evidence) if last else [],
        "requested_seq": last.seq if last else None,
        "finalized": history.finalized is not None,
        "renew_before": _moment(sealed[-1].payload.get("renew_before")) if sealed else None,
        "closed": history.closed,
        "predecessor": str(before) if (before := predecessor(history)) else None,
    }


def _compare_attempts(
    document: UUID, rows: Sequence[Mapping[str, Any]], history: History, findings: Anomalies
) -> None:
    expected, found = _attempts(history), _recorded(rows)
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            evidence, witness, number = name
            about = f"attempt {number} at {evidence}" + (f" of {witness}" if witness else "")
            findings.add(
                TRACKED,
                expected=f"{about}: {expected.get(name, 'no row')} in foja.attempt",
                found=str(found.get(name, "none")),
                entity_id=document,
                seq=expected[name].asked_seq if name in expected else None,
            )


def _attempts(history: History) -> dict[Name, AttemptRow]:
    return {
        (evidence.value, witness, each.number): AttemptRow(
            each.seq, each.deadline, each.ending is None, track.confirmed is not None, each.submitted
        )
        for (evidence, witness), track in history.tracks.items()
        for each in track.attempts
    }


def _recorded(rows: Sequence[Mapping[str, Any]]) -> dict[Name, AttemptRow]:
    keys = [
        (row["evidence"], "" if row["evidence"] == Evidence.ARTIFACT else row["witness_hash"]) for row in rows
    ]
    confirmed = {key for key, row in zip(keys, rows, strict=True) if row["state"] == "confirmed"}
    return {
        (*key, row["attempt"]): AttemptRow(
            row["asked_seq"],
            datetime.fromisoformat(row["deadline"]),
            row["state"] == "open",
            key in confirmed,
            row["submitted_seq"],
        )
        for key, row in zip(keys, rows, strict=True)
    }


def _moment(value: object) -> datetime | None:
    """Return a time from an event or a row, in any time zone."""
    return None if value is None else parse_moment(value, datetime.min.replace(tzinfo=UTC))
