"""A document as people see it: its state, its timeline, and what happens next, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from foja.documents.model.events import JOB_EVIDENCE, Evidence, Stage
from foja.documents.model.history import EventLike
from foja.documents.model.lifecycle import Lifecycle
from foja.documents.model.projection import EvidenceStatus, EvidenceView, Pipeline, Projection, State, project
from foja.documents.model.rules import DEFAULT, Policy
from foja.documents.model.track import REORGED
from foja.proofs.tsa.oids import LOCAL_NOTICE

EVIDENCE_NAMES: Final[Mapping[Evidence, str]] = {
    Evidence.TSA: "the timestamp",
    Evidence.POLYGON: "the anchor on Polygon",
    Evidence.BITCOIN: "the anchor on Bitcoin",
    Evidence.REKOR: "the entry in Rekor",
    Evidence.ARTIFACT: "the artifact",
}
EVENT_TEXTS: Final[Mapping[str, str]] = {
    "document.added": "added",
    "document.witness.required": "a witness is required",
    "document.witness.ready": "the witness is ready",
    "document.signature.started": "signing started",
    "document.signed": "signed",
    "document.revoked": "revoked",
    "document.archived": "archived",
    "document.protected.requested": "protection requested",
    "tsa.confirmed": "timestamped",
    "tsa.failed": "the timestamp failed",
    "anchor.submitted": "anchor submitted",
    "anchor.confirmed": "anchor confirmed",
    "anchor.timeout": "the anchor timed out",
    "anchor.failed": "the anchor failed",
    "rekor.confirmed": "entered in Rekor",
    "artifact.finalized": "the artifact is final",
    "artifact.failed": "the artifact failed",
    "artifact.renewed": "the artifact was renewed",
    "protection.retry.requested": "new attempts were granted",
    "body.erased": "a body was erased",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline, in the order of the ledger."""

    seq: int
    at: datetime | None
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, computed from its events."""

    id: UUID
    name: str | None
    predecessor: UUID | None  # the document that this one is a new version of
    successors: tuple[UUID, ...]  # and those that are new versions of this one
    witness_hash: str | None
    state: State
    pipeline: Pipeline | None
    lifecycle: Lifecycle
    stage: Stage | None
    required_evidence: tuple[Evidence, ...]
    evidence: tuple[EvidenceView, ...]
    timeline: tuple[Moment, ...]
    explain: str
    note: str | None  # a remark that every report must show

    def document(self) -> dict[str, Any]:
        """Return the view as JSON carries it."""
        return {
            "id": str(self.id),
            "name": self.name,
            "predecessor": str(self.predecessor) if self.predecessor else None,
            "successors": [str(each) for each in self.successors],
            "witness_hash": self.witness_hash,
            "state": self.state,
            "pipeline": self.pipeline,
            "lifecycle_status": self.lifecycle,
            "stage": self.stage,
            "required_evidence": list(self.required_evidence),
            "evidence": [{name: getattr(each, name) for name in each.__slots__} for each in self.evidence],
            "timeline": [{name: getattr(each, name) for name in each.__slots__} for each in self.timeline],
            "explain": self.explain,
            "note": self.note,
        }


def view(
    document_id: UUID,
    events: Sequence[EventLike],
    *,
    abilities: AbstractSet[str],
    at: datetime,
    policy: Policy = DEFAULT,
    note: str | None = None,
    successors: Sequence[UUID] = (),
) -> DocumentView:
    """Return the view of a document at a moment.

    `note` is the remark of this installation, used until there is a stamp.
    """
    shown = project(events, abilities=abilities, at=at, policy=policy)
    return DocumentView(
        id=document_id,
        name=shown.name,
        predecessor=shown.predecessor,
        successors=tuple(successors),
        witness_hash=shown.witness_hash,
        state=shown.state,
        pipeline=shown.pipeline,
        lifecycle=shown.lifecycle,
        stage=shown.stage,
        required_evidence=shown.required_evidence,
        evidence=shown.evidence,
        timeline=timeline(events),
        explain=explain(shown, document_id),
        note=remark(shown.local, note),
    )


def remark(local: bool | None, note: str | None) -> str | None:
    """Return the remark that a report must show: about the stamp, or `note` while there is none."""
    if local is None:
        return note
    return LOCAL_NOTICE if local else None


def timeline(events: Sequence[EventLike]) -> tuple[Moment, ...]:
    """Return one line per event."""
    return tuple(Moment(event.seq, event.at, event.kind, _line(event)) for event in events)


def explain(shown: Projection, document_id: UUID | str = "ID") -> str:
    """Return what the document waits for, since when, and what happens next and when."""
    unconfirmed = [each for each in shown.evidence if each.status is not EvidenceStatus.CONFIRMED]
    missing = [each for each in unconfirmed if each.status is not EvidenceStatus.SUPERSEDED]
    names = {each: _name(each, shown) for each in unconfirmed}
    superseded = [names[each] for each in unconfirmed if each.status is EvidenceStatus.SUPERSEDED]
    if shown.closed or shown.finalized_at:
        sentences = _ended(shown, [_sentence(each, names[each], None) for each in missing])
    elif not shown.required_evidence:
        return f"Protection was not requested yet. `foja protect {document_id}` requests it."
    else:
        sentences = [
            _sentence(each, names[each], document_id)
            for each in missing
            if each.status is not EvidenceStatus.WAITING
        ]
        if not missing:
            sentences.append(f"Everything required is confirmed; the next stage comes after {shown.stage}.")
        if waiting := [names[each] for each in missing if each.status is EvidenceStatus.WAITING]:
            sentences.append(f"After that: {', then '.join(waiting)}.")
    if superseded:
        sentences.append(f"Superseded by a later request: {', '.join(superseded)}.")
    return " ".join(sentences)


def _ended(shown: Projection, missing: list[str]) -> list[str]:
    """Return how the document ended, and what was not confirmed before, or was taken back since."""
    ended = f"It is final since {_when(shown.finalized_at)}."
    if shown.closed:
        ended = f"It was {shown.closed} {_when(shown.closed_at)}."
    done = "Nothing more is requested." if missing or shown.closed else "Nothing more will happen."
    return [ended, done, *missing]


def _name(each: EvidenceView, shown: Projection) -> str:
    """Return what people call an evidence; that of an earlier witness names it."""
    name = EVIDENCE_NAMES[each.evidence]
    return name if each.witness_hash == shown.witness_hash else f"{name} of {each.witness_hash[:12]}…"


def _sentence(each: EvidenceView, name: str, document_id: UUID | str | None) -> str:
    """Return the status of one evidence; without an id the document has ended, and grants no attempts."""
    why = _why(each)
    if each.status is EvidenceStatus.SCHEDULED:
        return (
            f"Waiting for {name} since {_when(each.since)}: attempt {each.attempt} runs at "
            f"{_when(each.run_at)}, until {_when(each.deadline)}.{why}"
        )
    if each.status is EvidenceStatus.OPEN:
        return (
            f"Waiting for {name} since {_when(each.since)}: attempt {each.attempt} is under way and ends "
            f"by {_when(each.deadline)}.{why}"
        )
    if each.status is EvidenceStatus.FAILED and each.failure_code == REORGED:
        reason = f" ({each.reason})" if each.reason else ""
        return f"But {name} was taken back at {_when(each.since)}{reason}."
    if each.status is EvidenceStatus.FAILED:
        return f"But {name} was not confirmed before that.{why}"
    if each.status is EvidenceStatus.GIVEN_UP:
        hint = f" `foja retry {document_id} {each.evidence}` grants new ones." if document_id else ""
        return f"Gave up on {name} {_when(each.since)}, after attempt {each.attempt}.{why}{hint}"
    if each.status is EvidenceStatus.NOT_INSTALLED:
        return f"{name[:1].upper()}{name[1:]} is not installed here: nothing happens until it is.{why}"
    return f"Waiting for {name} since {_when(each.since)}: the executor requests it next.{why}"


def _why(each: EvidenceView) -> str:
    if not each.failure_code:
        return ""
    reason = f" ({each.reason})" if each.reason else ""
    return f" The last attempt ended with {each.failure_code}{reason}."


def _when(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ") if at else "an unknown time"


def _line(event: EventLike) -> str:
    payload = event.payload if isinstance(event.payload, Mapping) else {}
    if event.kind in JOB_EVIDENCE:
        return f"{EVIDENCE_NAMES[JOB_EVIDENCE[event.kind]]} was requested, attempt {payload.get('attempt')}"
    details = [
        str(payload[name])
        for name in ("network", "name", "gen_time", "failure_code", "reason", "evidence")
        if payload.get(name)
    ]
    text = EVENT_TEXTS.get(event.kind, event.kind)
    return f"{text}: {', '.join(details)}" if details else text
