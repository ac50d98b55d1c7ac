"""A document as people see it: where it stands, what happened, and what happens next, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from foja.documents.model.events import ASKED_FOR, Evidence, Stage
from foja.documents.model.history import REORGED, EventLike
from foja.documents.model.lifecycle import Lifecycle
from foja.documents.model.projection import EvidenceStatus, EvidenceView, Pipeline, Projection, State, project
from foja.documents.model.rules import DEFAULT, Policy
from foja.proofs.tsa.oids import LOCAL_NOTICE

EVIDENCE_NAMES: Final[Mapping[Evidence, str]] = {
    Evidence.TSA: "the timestamp",
    Evidence.POLYGON: "the anchor on Polygon",
    Evidence.BITCOIN: "the anchor on Bitcoin",
    Evidence.REKOR: "the entry in Rekor",
    Evidence.ARTIFACT: "the artifact",
}
STATE_WORDS: Final[Mapping[str, str]] = {
    "document.added": "added",
    "document.witness.required": "a witness is needed",
    "document.witness.ready": "the witness is ready",
    "document.signature.started": "signing began",
    "document.signed": "signed",
    "document.revoked": "revoked",
    "document.archived": "archived",
    "document.protected.requested": "protection was asked for",
    "tsa.confirmed": "timestamped",
    "tsa.failed": "the timestamp failed",
    "anchor.submitted": "anchor submitted",
    "anchor.confirmed": "anchor confirmed",
    "anchor.timeout": "the anchor took too long",
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
    note: str | None  # what a report must add

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
    """Return the document that these events make, as it stands at a moment.

    `note` is what reports here add as long as no stamp tells what it is worth.
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
    """Return what a report must add: by the stamp that counts, or as here for the next."""
    if local is None:
        return note
    return LOCAL_NOTICE if local else None


def timeline(events: Sequence[EventLike]) -> tuple[Moment, ...]:
    """Return what happened, one line each."""
    return tuple(Moment(event.seq, event.at, event.kind, _line(event)) for event in events)


def explain(shown: Projection, document_id: UUID | str = "ID") -> str:
    """Return what the document waits for, since when, and what happens next and when."""
    if shown.closed or shown.finalized_at:
        return _over(shown)
    if not shown.required_evidence:
        return f"Nobody has asked for protection yet. `foja protect` does, for {document_id} too."
    missing = [each for each in shown.evidence if each.status is not EvidenceStatus.CONFIRMED]
    telling = [each for each in missing if each.status is not EvidenceStatus.WAITING]
    sentences = [_sentence(each, _name(each, shown), document_id) for each in telling]
    if not missing:
        sentences.append(f"Everything that was asked for is there; the next stage comes after {shown.stage}.")
    waiting = [_name(each, shown) for each in missing if each.status is EvidenceStatus.WAITING]
    return " ".join([*sentences, *([f"After that: {', then '.join(waiting)}."] if waiting else [])])


def _over(shown: Projection) -> str:
    """Return how it ended, and what did not come before or was taken back since."""
    words = f"It is final since {_when(shown.finalized_at)}."
    if shown.closed:
        words = f"It was {shown.closed} {_when(shown.closed_at)}."
    missing = [each for each in shown.evidence if each.status is not EvidenceStatus.CONFIRMED]
    left = [_sentence(each, _name(each, shown), None) for each in missing]
    done = "Nothing more is asked for." if left or shown.closed else "Nothing more will happen."
    return " ".join([words, done, *left])


def _name(each: EvidenceView, shown: Projection) -> str:
    """Return what people call an evidence; of a witness before the last one, of which."""
    before = each.witness_hash != shown.witness_hash
    return (
        f"{EVIDENCE_NAMES[each.evidence]} of {each.witness_hash[:12]}…"
        if before
        else EVIDENCE_NAMES[each.evidence]
    )


def _sentence(each: EvidenceView, name: str, document_id: UUID | str | None) -> str:
    """Return how one evidence stands; without an id the document is over, and nobody may grant more."""
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
        return f"But {name} did not come before that.{why}"
    if each.status is EvidenceStatus.GIVEN_UP:
        hint = f" `foja retry {document_id} {each.evidence}` grants new ones." if document_id else ""
        return f"Gave up on {name} {_when(each.since)}, after attempt {each.attempt}.{why}{hint}"
    if each.status is EvidenceStatus.NOT_INSTALLED:
        return f"{name[:1].upper()}{name[1:]} is not installed here: nothing happens until it is.{why}"
    return f"Waiting for {name} since {_when(each.since)}: the executor asks for it next.{why}"


def _why(each: EvidenceView) -> str:
    if not each.failure_code:
        return ""
    words = f" ({each.reason})" if each.reason else ""
    return f" The last attempt ended with {each.failure_code}{words}."


def _when(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ") if at else "an unknown time"


def _line(event: EventLike) -> str:
    said = event.payload if isinstance(event.payload, Mapping) else {}
    if event.kind in ASKED_FOR:
        return f"{EVIDENCE_NAMES[ASKED_FOR[event.kind]]} was asked for, attempt {said.get('attempt')}"
    details = [
        str(said[name])
        for name in ("network", "name", "gen_time", "failure_code", "reason", "evidence")
        if said.get(name)
    ]
    words = STATE_WORDS.get(event.kind, event.kind)
    return f"{words}: {', '.join(details)}" if details else words
