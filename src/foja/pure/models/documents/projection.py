"""The state of a document as views and lists show it, computed from its events alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from foja.pure.models.documents.events import NETWORKS, EventLike, Evidence, Stage
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.lifecycle import Lifecycle, lifecycle
from foja.pure.models.documents.rules import DEFAULT, Policy, TrackState, due, track_state
from foja.pure.models.documents.states import EvidenceStatus, Pipeline, State
from foja.pure.models.documents.track import Ending, Track


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """One evidence for one witness: its status, since when, until when, and why."""

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
    test_network: str | None  # where it is confirmed, if the blocks there prove no time to others


@dataclass(frozen=True, slots=True)
class Projection:
    """Everything that views show of a document."""

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
    witness_required: datetime | None  # since when everything waits for a witness
    name: str | None
    predecessor: UUID | None  # the document that this one is a new version of
    length: int
    local: bool | None  # whether the stamp that counts is of our own authority; None without a stamp
    test_network: str | None  # of an anchor of this document


def project(
    events: Sequence[EventLike],
    *,
    abilities: AbstractSet[str],
    at: datetime,
    policy: Policy = DEFAULT,
    checked: int | None = None,
) -> Projection:
    """Return the projection at a moment; the moment only separates `scheduled` from `open`.

    A timestamp from the number `checked` on does not count yet: the executor has not checked its token.
    """
    unchecked = [each for each in events if checked is not None and is_unchecked(each, checked)]
    counted = [each for each in events if each not in unchecked] if unchecked else events
    history, recorded = read(counted), read(events) if unchecked else None
    last = history.last
    views = tuple(
        _evidence_view(track, history, abilities, policy, at, recorded) for track in _shown(history)
    )
    return Projection(
        state=state(history),
        pipeline=pipeline(history),
        lifecycle=lifecycle(counted),
        witness_hash=history.witness,
        stage=last.stage if last else None,
        required_evidence=last.evidence if last else (),
        evidence=views,
        finalized_at=history.finalized.at if history.finalized else None,
        closed=history.closed,
        closed_at=history.closed_at,
        witness_required=history.required_at if history.held else None,
        name=history.name,
        predecessor=predecessor(history),
        length=len(events),
        local=_local(views, last.witness if last else None),
        test_network=max((each.test_network for each in views if each.test_network), default=None),
    )


def is_unchecked(event: EventLike, checked: int) -> bool:
    """Return whether this is a timestamp that the executor has not seen, after so many events."""
    return event.kind == "tsa.confirmed" and event.seq >= checked


def has_failed(history: History) -> bool:
    """Return whether an attempt failed at what is still required; others may be left, or under way."""
    last = history.last
    if last is None or history.finalized or history.closed:
        return False
    tracks = (*history.required(), history.track(Evidence.ARTIFACT, last.witness))
    return any(not track.confirmed and (track.lost or track.has_failed) for track in tracks)


def predecessor(history: History) -> UUID | None:
    """Return the document that this one is a new version of, unless it was erased."""
    try:
        return UUID(str((history.added or {}).get("predecessor")))
    except ValueError:
        return None


def state(history: History) -> State:
    """Return the state. Failures never lower it; a confirmation that is taken back does."""
    if history.finalized:
        return State.FINAL
    confirmed = {track.evidence for track in history.tracks.values() if track.confirmed}
    if Evidence.TSA not in confirmed:
        return State.NONE
    return State.REINFORCED if confirmed.intersection(NETWORKS) else State.PROTECTED


def pipeline(history: History) -> Pipeline | None:
    """Return what the last request is waiting for, if anything."""
    last = history.last
    if last is None or history.finalized or history.closed:
        return None
    if not history.is_confirmed(Evidence.TSA, last.witness):
        return Pipeline.AWAITING_TSA
    if not history.is_complete():
        return Pipeline.AWAITING_ANCHORS
    return Pipeline.AWAITING_ARTIFACT if last.stage is Stage.FINAL else None


def _shown(history: History) -> Iterator[Track]:
    """Yield what was requested, for earlier witnesses too, and the artifact of the final stage."""
    last = history.last
    if last is None:
        return
    pairs = [(each, request.witness) for request in history.requests for each in request.evidence]
    for evidence, witness in dict.fromkeys(pairs):
        if witness != last.witness or evidence in last.evidence:
            yield history.track(evidence, witness)
    if last.stage is Stage.FINAL:
        yield history.track(Evidence.ARTIFACT, last.witness)


def _evidence_view(
    track: Track,
    history: History,
    abilities: AbstractSet[str],
    policy: Policy,
    at: datetime,
    recorded: History | None,
) -> EvidenceView:
    attempt, failure = track.open, _failure(track)
    status = _status(track, history, abilities, policy, at)
    if recorded and not track.confirmed and recorded.is_confirmed(track.evidence, track.witness):
        status = EvidenceStatus.RECORDED
    return EvidenceView(
        evidence=track.evidence,
        witness_hash=track.witness,
        status=status,
        since=_since(track, history, status),
        attempt=track.attempts[-1].number if track.attempts else 0,
        attempts_left=max(0, policy.attempts_of(track.evidence) - track.counted),
        run_at=attempt.run_at if attempt else None,
        deadline=attempt.deadline if attempt else None,
        failure_code=failure.code if failure and not track.confirmed else None,
        reason=failure.reason or None if failure and not track.confirmed else None,
        confirmed_at=track.confirmed.at if track.confirmed else None,
        local=track.local,
        test_network=track.test_network,
    )


def _failure(track: Track) -> Ending | None:
    """Return the newest failure: of an attempt, or of a confirmation that was taken back."""
    found = [each for each in (track.failure, track.lost) if each]
    return max(found, key=lambda each: each.seq, default=None)


def _status(
    track: Track, history: History, abilities: AbstractSet[str], policy: Policy, at: datetime
) -> EvidenceStatus:
    state = track_state(track, policy)
    if state is TrackState.CONFIRMED:
        return EvidenceStatus.CONFIRMED
    if track.witness != history.witness:
        return EvidenceStatus.SUPERSEDED
    if track.open:
        return EvidenceStatus.SCHEDULED if track.open.run_at > at else EvidenceStatus.OPEN
    over = history.closed or history.finalized
    if state is TrackState.GIVEN_UP and not (over and track.lost):
        return EvidenceStatus.GIVEN_UP
    if over:
        return EvidenceStatus.FAILED
    if track.evidence not in abilities:
        return EvidenceStatus.NOT_INSTALLED
    is_due = any(track.evidence is each.evidence for each in due(history))
    return EvidenceStatus.REQUESTED if is_due else EvidenceStatus.WAITING


def _since(track: Track, history: History, status: EvidenceStatus) -> datetime | None:
    """Return when it was confirmed, failed for good or superseded, else when it was requested."""
    failure = _failure(track)
    if track.confirmed:
        return track.confirmed.at
    if failure and status in (EvidenceStatus.GIVEN_UP, EvidenceStatus.FAILED):
        return failure.at
    naming = [place for place, each in enumerate(history.requests) if each.witness == track.witness]
    if status is EvidenceStatus.SUPERSEDED:
        return history.requests[naming[-1] + 1].at
    return history.requests[naming[0]].at if naming else None


def _local(views: Sequence[EvidenceView], witness: str | None) -> bool | None:
    """Return whether the stamp of this witness is a local one; until it has one, whether any other is."""
    stamps = [each for each in views if each.evidence is Evidence.TSA and each.confirmed_at]
    for each in stamps:
        if each.witness_hash == witness:
            return each.local
    return any(each.local for each in stamps) or None


def summary(events: Sequence[EventLike], history: History | None = None) -> dict[str, Any]:
    """Return the row that lists show; `history` saves reading the events again.

    The row has no name: a name can be erased from an event only.
    """
    history = history or read(events)
    return {
        "state": state(history).value,
        "pipeline": found.value if (found := pipeline(history)) else None,
        "lifecycle_status": lifecycle(events).value,
        "witness_hash": history.witness,
        "length": history.length,
        "failed": has_failed(history),
    }
