"""What a document still needs. Pure: the same history, policy and moment give the same answer.

One table for tsa, every network and the artifact alike:

| state | what is needed |
|---|---|
| confirmed | nothing |
| an attempt is open | nothing: it has a deadline, and ends |
| attempts are left | attempt n + 1, after a pause |
| no attempts are left | nothing: given up, until new attempts are granted |

Only the last request counts: first the timestamp of its witness, then its networks, and the artifact when all
of them are confirmed and the stage is final. Nothing is needed while a witness is required and not ready.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from foja.pure.models.documents.events import JOB_KINDS, JOBS, NETWORKS, EventLike, Evidence, Stage
from foja.pure.models.documents.history import History, read
from foja.pure.models.documents.track import Track

WINDOWS: Final[Mapping[Evidence, timedelta]] = {
    Evidence.TSA: timedelta(hours=1),
    Evidence.POLYGON: timedelta(minutes=30),
    Evidence.BITCOIN: timedelta(hours=72),
    Evidence.REKOR: timedelta(hours=1),
    Evidence.ARTIFACT: timedelta(hours=1),
}
SOON = timedelta(seconds=5)  # by then an executor that runs has decided
SPREAD = 0.25  # of a pause, so that many documents do not retry at once


@dataclass(frozen=True, slots=True)
class Policy:
    """How many attempts, how long each, and the pauses between them.

    An evidence that `own_attempts` or `own_pauses` names has its own number and its own first pause.
    """

    attempts: int = 5
    pause: timedelta = timedelta(seconds=30)
    growth: int = 4
    longest: timedelta = timedelta(hours=6)
    windows: Mapping[Evidence, timedelta] = field(default_factory=lambda: WINDOWS)
    own_attempts: Mapping[Evidence, int] = field(default_factory=dict)
    own_pauses: Mapping[Evidence, timedelta] = field(default_factory=dict)

    def attempts_of(self, evidence: Evidence) -> int:
        """Return how many attempts there are at an evidence."""
        return self.own_attempts.get(evidence, self.attempts)

    def pause_after(self, counted: int, name: str, evidence: Evidence) -> timedelta:
        """Return the pause after so many attempts; it differs a little by witness."""
        if counted < 1:
            return timedelta()
        pause = self.own_pauses.get(evidence, self.pause)
        factor: int = self.growth ** min(counted - 1, 16)
        share = (zlib.crc32(name.encode()) % 1000) / 1000
        return min(pause * factor, self.longest) * (1 + SPREAD * share)


DEFAULT = Policy()


class Need(NamedTuple):
    """A job that the history still needs."""

    evidence: Evidence
    witness: str
    attempt: int
    run_at: datetime
    deadline: datetime

    @property
    def kind(self) -> str:
        """The kind of the event that opens the attempt."""
        return JOB_KINDS[self.evidence]

    @property
    def job(self) -> str:
        """The type of the job that does it."""
        return JOBS[self.evidence]

    def payload(self) -> dict[str, Any]:
        """Return the body of the event that opens the attempt."""
        return {
            "witness_hash": self.witness,
            "attempt": self.attempt,
            "run_at": self.run_at.isoformat(),
            "deadline": self.deadline.isoformat(),
        }


class TrackState(StrEnum):
    """The state of a track: the rows of the table."""

    CONFIRMED = "confirmed"
    OPEN = "open"
    LEFT = "left"
    GIVEN_UP = "given_up"


def decide(
    events: Iterable[EventLike], *, abilities: AbstractSet[str], at: datetime, policy: Policy = DEFAULT
) -> list[Need]:
    """Return the jobs this history still needs, in order. Total and repeatable: ask as often as you like."""
    return needs(read(events), abilities=abilities, at=at, policy=policy)


def needs(history: History, *, abilities: AbstractSet[str], at: datetime, policy: Policy) -> list[Need]:
    """Do the same for a history that was read already."""
    if history.closed or history.finalized:
        return []
    return [
        next_attempt(track, policy, at)
        for track in due(history)
        if track.evidence in abilities and track_state(track, policy) is TrackState.LEFT
    ]


def due(history: History) -> Iterator[Track]:
    """Yield what the last request requires and nothing blocks, confirmed or not."""
    last = history.last
    if last is None or history.held:
        return
    for track in history.required():
        if track.evidence not in NETWORKS or history.is_confirmed(Evidence.TSA, last.witness):
            yield track
    if last.stage is Stage.FINAL and history.is_complete():
        yield history.track(Evidence.ARTIFACT, last.witness)


def track_state(track: Track, policy: Policy) -> TrackState:
    """Return the row of the table that this track is in."""
    if track.confirmed:
        return TrackState.CONFIRMED
    if track.open:
        return TrackState.OPEN
    return TrackState.LEFT if track.counted < policy.attempts_of(track.evidence) else TrackState.GIVEN_UP


def is_stalled(track: Track, policy: Policy, at: datetime) -> bool:
    """Return whether attempts have failed and no other follows: none is left, or the limit was raised."""
    state = track_state(track, policy)
    if state is TrackState.LEFT and track.failure:
        return track.failure.at + SOON < at  # the executor would have opened the next one
    return state is TrackState.GIVEN_UP


def next_attempt(track: Track, policy: Policy, at: datetime) -> Need:
    """Return the attempt after the last one; numbers keep counting when new attempts are granted."""
    run_at = at
    if track.counted:
        last = track.attempts[-1]
        ended = last.ending.at if last.ending else last.at
        run_at = max(at, ended + policy.pause_after(track.counted, track.witness, track.evidence))
    number = track.attempts[-1].number + 1 if track.attempts else 1
    return Need(track.evidence, track.witness, number, run_at, run_at + policy.windows[track.evidence])
