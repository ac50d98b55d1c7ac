"""What a document's events show, computed from them and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from foja.documents.model.events import NETWORKS, Evidence, Stage
from foja.documents.model.history import Ending, EventLike, History, Track, predecessor, read
from foja.documents.model.lifecycle import Lifecycle, lifecycle
from foja.documents.model.rules import DEFAULT, Policy, TrackState, due, track_state


class State(StrEnum):
    """What can be shown to somebody today."""

    NONE = "none"
    PROTECTED = "protected"
    REINFORCED = "reinforced"
    FINAL = "final"


class Pipeline(StrEnum):
    """What is missing."""

    AWAITING_TSA = "awaiting_tsa"
    AWAITING_ANCHORS = "awaiting_anchors"
    AWAITING_ARTIFACT = "awaiting_artifact"


class EvidenceStatus(StrEnum):
    """How one evidence stands."""

    WAITING = "waiting"  # for an evidence that comes first
    REQUESTED = "requested"  # the executor will ask for it, or for the next attempt
    SCHEDULED = "scheduled"  # an attempt has its time, and it is not over yet
    OPEN = "open"
    CONFIRMED = "confirmed"
    FAILED = "failed"  # it did not come, or was taken back, and the document is closed or final
    GIVEN_UP = "given_up"
    NOT_INSTALLED = "not_installed"


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """One evidence for one witness: how it stands, since when, until when, and why."""

    evidence: Evidence
    witness_hash: str
    status: EvidenceStatus
    since: datetime | None
    attempt: int
    attempts_left: int
    run_at: datetime | None
    deadline: datetime | None
    failure_code: str | None
    reason: str | None
    confirmed_at: datetime | None
    local: bool


@dataclass(frozen=True, slots=True)
class Projection:
    """Everything about a document that its events show."""

    state: State
    pipeline: Pipeline | None
    lifecycle: Lifecycle
    witness_hash: str | None
    stage: Stage | None
    required_evidence: tuple[Evidence, ...]
    evidence: tuple[EvidenceView, ...]
    finalized_at: datetime | None
    closed: str | None
    closed_at: datetime | None
    name: str | None
    predecessor: UUID | None
    length: int
    local: bool | None  # is the stamp that counts one of our own authority? None: there is none to tell by


def project(
    events: Sequence[EventLike], *, abilities: AbstractSet[str], at: datetime, policy: Policy = DEFAULT
) -> Projection:
    """Return what these events show at a moment; the moment only tells what is scheduled from what runs."""
    history = read(events)
    last = history.last
    added = history.added or {}
    views = tuple(_evidence_view(track, history, abilities, policy, at) for track in _shown(history))
    return Projection(
        state=state(history),
        pipeline=pipeline(history),
        lifecycle=lifecycle(events),
        witness_hash=last.witness if last else added.get("sha256"),
        stage=last.stage if last else None,
        required_evidence=last.evidence if last else (),
        evidence=views,
        finalized_at=history.finalized.at if history.finalized else None,
        closed=history.closed,
        closed_at=history.closed_at,
        name=added.get("name"),
        predecessor=predecessor(history),
        length=history.length,
        local=_local(views, last.witness if last else None),
    )


def state(history: History) -> State:
    """Return what can be shown; failures never lower it, only a confirmation taken back does."""
    if history.finalized:
        return State.FINAL
    confirmed = {track.evidence for track in history.tracks.values() if track.confirmed}
    if Evidence.TSA not in confirmed:
        return State.NONE
    return State.REINFORCED if confirmed.intersection(NETWORKS) else State.PROTECTED


def pipeline(history: History) -> Pipeline | None:
    """Return what is missing for the last request, if anything is."""
    last = history.last
    if last is None or history.finalized or history.closed:
        return None
    if not history.is_confirmed(Evidence.TSA, last.witness):
        return Pipeline.AWAITING_TSA
    if not history.is_complete():
        return Pipeline.AWAITING_ANCHORS
    return Pipeline.AWAITING_ARTIFACT if last.stage is Stage.FINAL else None


def _shown(history: History) -> list[Track]:
    """Return what was asked for, and the artifact once somebody may expect it."""
    tracks = list(history.wanted())
    last = history.last
    if last and last.stage is Stage.FINAL:
        artifact = history.track(Evidence.ARTIFACT, last.witness)
        artifact.witness = last.witness
        tracks.append(artifact)
    return tracks


def _evidence_view(
    track: Track, history: History, abilities: AbstractSet[str], policy: Policy, at: datetime
) -> EvidenceView:
    attempt, failure = track.open, _trouble(track)
    status = _status(track, history, abilities, policy, at)
    ended = track.confirmed or (
        failure if status in (EvidenceStatus.GIVEN_UP, EvidenceStatus.FAILED) else None
    )
    return EvidenceView(
        evidence=track.evidence,
        witness_hash=track.witness,
        status=status,
        since=ended.at if ended else _asked_at(track, history),
        attempt=track.attempts[-1].number if track.attempts else 0,
        attempts_left=max(0, policy.attempts - track.counted),
        run_at=attempt.run_at if attempt else None,
        deadline=attempt.deadline if attempt else None,
        failure_code=failure.code if failure and not track.confirmed else None,
        reason=failure.words or None if failure and not track.confirmed else None,
        confirmed_at=track.confirmed.at if track.confirmed else None,
        local=bool(track.said.get("local")),
    )


def _trouble(track: Track) -> Ending | None:
    """Return what went wrong last: an attempt, or a confirmation that was taken back."""
    found = [each for each in (track.failure, track.lost) if each]
    return max(found, key=lambda each: each.seq, default=None)


def _status(
    track: Track, history: History, abilities: AbstractSet[str], policy: Policy, at: datetime
) -> EvidenceStatus:
    stands = track_state(track, policy)
    if stands is TrackState.CONFIRMED:
        return EvidenceStatus.CONFIRMED
    if track.open:
        return EvidenceStatus.SCHEDULED if track.open.run_at > at else EvidenceStatus.OPEN
    over = history.closed or history.finalized
    if stands is TrackState.GIVEN_UP and not (over and track.lost):
        return EvidenceStatus.GIVEN_UP
    if over:
        return EvidenceStatus.FAILED
    if track.evidence not in abilities:
        return EvidenceStatus.NOT_INSTALLED
    return EvidenceStatus.REQUESTED if any(track is each for each in due(history)) else EvidenceStatus.WAITING


def _local(views: Sequence[EvidenceView], witness: str | None) -> bool | None:
    """Is the stamp of this witness a local one? Until it has one: is any other?"""
    stamps = [each for each in views if each.evidence is Evidence.TSA and each.confirmed_at]
    for each in stamps:
        if each.witness_hash == witness:
            return each.local
    return any(each.local for each in stamps) or None


def _asked_at(track: Track, history: History) -> datetime | None:
    asking = [each.at for each in history.requests if each.witness == track.witness]
    return asking[0] if asking else None


def summary(events: Sequence[EventLike], history: History | None = None) -> dict[str, Any]:
    """Return the row that lists show for these events. No name: it could not be forgotten there.

    Whoever has read them before gives what he read.
    """
    history = history or read(events)
    last, added = history.last, history.added or {}
    return {
        "state": state(history).value,
        "pipeline": where.value if (where := pipeline(history)) else None,
        "lifecycle_status": lifecycle(events).value,
        "witness_hash": last.witness if last else added.get("sha256"),
        "length": history.length,
    }
