"""A document's history, read once: what was asked for, and what came of every attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from foja.documents.model.events import ASKED_FOR, NETWORKS, REQUIRABLE, Evidence, Stage

REORGED, TIMEOUT, SUPERSEDED = "reorged", "timeout", "superseded"
LARGEST_ATTEMPT = 1_000_000
_EVIDENCE = {each.value: each for each in Evidence}
_STAGES = {each.value: each for each in Stage}
_REPORTS = frozenset({"submitted", "confirmed", "failed", "timeout"})


class EventLike(Protocol):
    """As much of an event as a rule may look at."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> datetime | None: ...
    @property
    def payload(self) -> Any: ...


class Fact(NamedTuple):
    """An event as it is read for a decision, or for a line of a list."""

    seq: int
    kind: str
    at: datetime
    payload: Any


class Request(NamedTuple):
    """What somebody asked to have proven."""

    seq: int
    at: datetime
    witness: str
    evidence: tuple[Evidence, ...]
    stage: Stage


class Ending(NamedTuple):
    """How an attempt ended; a confirmation that came elsewhere ends it, too."""

    seq: int
    at: datetime
    confirmed: bool
    code: str = ""
    words: str = ""


@dataclass(slots=True)
class Attempt:
    """One asking for one evidence: open from its event to its ending."""

    number: int
    seq: int
    at: datetime
    run_at: datetime
    deadline: datetime
    submitted: datetime | None = None
    ending: Ending | None = None


@dataclass(slots=True)
class Track:
    """Everything that happened about one evidence for one witness."""

    evidence: Evidence
    witness: str
    attempts: list[Attempt] = field(default_factory=list)
    confirmed: Ending | None = None
    said: Mapping[str, Any] = field(default_factory=dict)  # the body of the confirmation that stands
    lost: Ending | None = None  # a confirmation that was taken back
    spent: int = 0  # attempts that no longer count, since somebody granted new ones
    granted_at: datetime | None = None

    @property
    def open(self) -> Attempt | None:
        """The attempt that is under way."""
        for each in reversed(self.attempts):
            if each.ending is None:
                return each
        return None

    @property
    def counted(self) -> int:
        """How many attempts of the present set were made."""
        return len(self.attempts) - self.spent

    @property
    def failure(self) -> Ending | None:
        """How the newest attempt that ended failed, if it did; the next one may be open already."""
        endings = [each.ending for each in self.attempts if each.ending]
        last = endings[-1] if endings else None
        return last if last and not last.confirmed and last.code != SUPERSEDED else None


@dataclass(slots=True)
class History:
    """What a document's events say, so far."""

    requests: list[Request] = field(default_factory=list)
    tracks: dict[tuple[Evidence, str], Track] = field(default_factory=dict)
    finalized: Ending | None = None
    artifact: Mapping[str, Any] = field(default_factory=dict)
    closed: str | None = None  # revoked or archived
    closed_at: datetime | None = None
    added: Mapping[str, Any] | None = None  # None once it was erased, too
    length: int = 0

    @property
    def last(self) -> Request | None:
        """The request that rules."""
        return self.requests[-1] if self.requests else None

    def track(self, evidence: Evidence, witness: str) -> Track:
        """Return the track of one evidence, empty if nothing happened. A document has one artifact."""
        key = (evidence, "" if evidence is Evidence.ARTIFACT else witness)
        found = self.tracks.get(key)
        if found is None:
            found = self.tracks[key] = Track(evidence, witness)
        return found

    def is_confirmed(self, evidence: Evidence, witness: str) -> bool:
        """Is this evidence there, and not taken back?"""
        return self.track(evidence, witness).confirmed is not None

    def wanted(self) -> Iterator[Track]:
        """Yield what the requests ask for, each once, in order."""
        seen = dict.fromkeys(
            [(each, request.witness) for request in self.requests for each in request.evidence]
        )
        for evidence, witness in seen:
            yield self.track(evidence, witness)

    def is_complete(self) -> bool:
        """Is everything there that the last request asks for?"""
        last = self.last
        return last is not None and all(self.is_confirmed(each, last.witness) for each in last.evidence)


def read(events: Iterable[EventLike]) -> History:
    """Return what these events say, in their order. Total: what makes no sense says nothing."""
    history = History()
    for event in events:
        history.length += 1
        said, at = event.payload, event.at
        if isinstance(said, dict) and at is not None:
            _take(history, event, said, at)
    return history


def predecessor(history: History) -> UUID | None:
    """Return the document that this one is a new version of, unless it was erased."""
    try:
        return UUID(str((history.added or {}).get("predecessor")))
    except ValueError:
        return None


def moment(words: object, default: datetime) -> datetime:
    """Return a moment that we wrote ourselves, or the default if it is none."""
    try:
        read_moment = datetime.fromisoformat(str(words))
    except ValueError:
        return default
    return read_moment if read_moment.tzinfo else read_moment.replace(tzinfo=UTC)


def _take(history: History, event: EventLike, said: Mapping[str, Any], at: datetime) -> None:
    kind = event.kind
    if kind in ASKED_FOR:
        _ask(history, event.seq, ASKED_FOR[kind], said, at)
    elif kind == "document.protected.requested":
        _request(history, event.seq, said, at)
    elif kind == "protection.retry.requested":
        _grant(history, said, at)
    elif kind == "document.added":
        history.added = said
    elif kind in ("document.revoked", "document.archived"):
        history.closed, history.closed_at = kind.partition(".")[2], at
        _drop_artifact(history, event.seq, at)
    elif kind == "artifact.finalized":
        history.finalized = history.finalized or Ending(event.seq, at, confirmed=True)
        history.artifact = said
        _confirm(history.track(Evidence.ARTIFACT, ""), Ending(event.seq, at, confirmed=True), said)
    else:
        _report(history, event, said, at)


def _report(history: History, event: EventLike, said: Mapping[str, Any], at: datetime) -> None:
    """Take what a worker says about an attempt."""
    room, _, word = event.kind.partition(".")
    name = said.get("network") if room == "anchor" else room
    if name not in _EVIDENCE or word not in _REPORTS:
        return
    track = history.track(_EVIDENCE[name], str(said.get("witness_hash", "")))
    number = said.get("attempt")
    if word == "submitted":
        for attempt in track.attempts:
            if attempt.number == number:
                attempt.submitted = at
    elif word == "confirmed":
        _confirm(track, Ending(event.seq, at, confirmed=True), said)
    else:
        code = str(said.get("failure_code", TIMEOUT))
        taken_back = _fail(track, number, Ending(event.seq, at, False, code, str(said.get("reason", ""))))
        if taken_back:
            _drop_artifact(history, event.seq, at)


def _request(history: History, seq: int, said: Mapping[str, Any], at: datetime) -> None:
    asked = said.get("required_evidence")
    named = [each for each in REQUIRABLE if each in asked] if isinstance(asked, list | tuple) else []
    stage = _STAGES.get(said.get("stage", ""), Stage.FINAL)
    history.requests.append(Request(seq, at, str(said.get("witness_hash")), tuple(named), stage))
    _drop_artifact(history, seq, at)


def _drop_artifact(history: History, seq: int, at: datetime) -> None:
    """End what is being built: it shows what was asked for before. The next one has all its attempts."""
    track = history.track(Evidence.ARTIFACT, "")
    for attempt in track.attempts:
        attempt.ending = attempt.ending or Ending(seq, at, confirmed=False, code=SUPERSEDED)
    track.spent = len(track.attempts)


def _ask(history: History, seq: int, evidence: Evidence, said: Mapping[str, Any], at: datetime) -> None:
    track = history.track(evidence, str(said.get("witness_hash", "")))
    run_at = moment(said.get("run_at"), at)
    number = said.get("attempt")
    if not isinstance(number, int | float) or not 1 <= number <= LARGEST_ATTEMPT or number != int(number):
        return
    track.attempts.append(Attempt(int(number), seq, at, run_at, moment(said.get("deadline"), run_at)))


def _grant(history: History, said: Mapping[str, Any], at: datetime) -> None:
    if said.get("evidence") in _EVIDENCE:
        track = history.track(_EVIDENCE[said["evidence"]], str(said.get("witness_hash", "")))
        track.spent, track.granted_at = len(track.attempts), at


def _confirm(track: Track, ending: Ending, said: Mapping[str, Any]) -> None:
    track.confirmed, track.said, track.lost = ending, said, None
    for attempt in track.attempts:
        attempt.ending = attempt.ending or ending


def _fail(track: Track, number: object, ending: Ending) -> bool:
    """End an attempt; true if instead a confirmation was taken back."""
    if ending.code == REORGED and track.evidence in NETWORKS and track.confirmed:
        track.confirmed, track.said, track.lost = None, {}, ending
        return True
    for attempt in track.attempts:
        if attempt.number == number and attempt.ending is None:
            attempt.ending = ending
    return False
