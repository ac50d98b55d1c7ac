"""A document's history, read once: what was requested, and how every attempt ended.

`read` is the only fold of a document's events: the executor, the views, the audit, the writer of bundles and
the judge use it. The guards in SQL keep the same state in tables; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from foja.pure.models.documents.events import (
    JOB_EVIDENCE,
    NETWORKS,
    REQUIRABLE,
    EventLike,
    Evidence,
    Stage,
    WitnessStatus,
)
from foja.pure.models.documents.track import (
    REORGED,
    TIMEOUT,
    TOKEN_REFUSED,
    Ending,
    Track,
    TrackBuilder,
    moment,
)

LARGEST_ATTEMPT = 1_000_000
Payload = Mapping[str, Any]
Key = tuple[Evidence, str]
Subject = Evidence | None  # of a kind; None: the payload names the network, or none is needed
_EVIDENCE: Mapping[str | None, Evidence] = {each.value: each for each in Evidence}
_NETWORKS: Mapping[str | None, Evidence] = {each.value: each for each in NETWORKS}
_TAKES_BACK: Mapping[Subject, str] = {None: REORGED, Evidence.TSA: TOKEN_REFUSED}
_STAGES: Mapping[str | None, Stage] = {each.value: each for each in Stage}
ARTIFACT: Final = Evidence.ARTIFACT  # an attribute of an enumeration is slow to look up
_ONE_ARTIFACT: Key = (ARTIFACT, "")  # a document has one, whatever the witness


class Request(NamedTuple):
    """One `document.protected.requested`, and its body as it was recorded."""

    seq: int
    at: datetime
    witness: str
    evidence: tuple[Evidence, ...]
    stage: Stage
    payload: Payload


class Revocation(NamedTuple):
    """One `document.revoked`."""

    seq: int
    at: datetime
    reason: str | None


class History(NamedTuple):
    """The state that a document's events lead to."""

    requests: tuple[Request, ...]
    tracks: Mapping[Key, Track]
    lost: Mapping[
        tuple[str, str], int
    ]  # the last event that took a confirmation back, by evidence and witness
    finalized: Ending | None
    closed: str | None  # revoked or archived
    closed_at: datetime | None
    revoked: Revocation | None
    added: Payload | None  # None before it was added, and once it was erased
    erased: bool
    rendition: str | None  # the newest digest that an event names for the document itself
    witness_status: WitnessStatus
    required_at: datetime | None  # when a witness was required last
    length: int

    @property
    def last(self) -> Request | None:
        """The request in force."""
        return self.requests[-1] if self.requests else None

    @property
    def witness(self) -> str | None:
        """The digest that the evidence is about: of the last request, else of what was added."""
        return self.requests[-1].witness if self.requests else _text(self.added or {}, "sha256")

    @property
    def held(self) -> bool:
        """Whether everything waits for a witness that is required."""
        return self.witness_status is WitnessStatus.REQUIRED

    @property
    def name(self) -> str | None:
        """The name that the document was added with, unless it was erased."""
        return _text(self.added or {}, "name")

    def track(self, evidence: Evidence, witness: str) -> Track:
        """Return the track of one evidence, empty if nothing happened."""
        found = self.tracks.get(_ONE_ARTIFACT if evidence is ARTIFACT else (evidence, witness))
        return Track(evidence, witness) if found is None else found

    def is_confirmed(self, evidence: Evidence, witness: str) -> bool:
        """Return whether this evidence is confirmed, and not taken back."""
        return self.track(evidence, witness).confirmed is not None

    def required(self) -> Iterator[Track]:
        """Yield what the last request requires, in order."""
        if last := self.last:
            for evidence in last.evidence:
                yield self.track(evidence, last.witness)

    def is_complete(self) -> bool:
        """Return whether everything that the last request requires is confirmed."""
        return bool(self.requests) and all(track.confirmed for track in self.required())


def read(events: Iterable[EventLike]) -> History:
    """Return the state that these events lead to, in linear time. Total: malformed events change nothing."""
    state, length = _State(), 0
    for event in events:
        length += 1
        handler = _HANDLERS.get(event.kind)
        if handler is not None and (at := event.at) is not None:
            payload, (handle, evidence) = event.payload, handler
            handle(state, event, payload if isinstance(payload, dict) else {}, at, evidence)
    return state.build(length)


class _State:
    """A history while events are read."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.tracks: dict[Key, TrackBuilder] = {}
        self.lost: dict[tuple[str, str], int] = {}
        self.finalized: Ending | None = None
        self.closed: str | None = None
        self.closed_at: datetime | None = None
        self.revoked: Revocation | None = None
        self.added: Payload | None = None
        self.erased = False
        self.rendition: str | None = None
        self.witness_status = WitnessStatus.MISSING
        self.required_at: datetime | None = None

    def track(self, evidence: Subject, payload: Payload) -> TrackBuilder | None:
        """Return the track that an event names, or None if it names none."""
        witness = "" if evidence is ARTIFACT else payload.get("witness_hash")
        if evidence is None or not isinstance(witness, str):
            return None
        key = (evidence, witness)
        found = self.tracks.get(key)
        if found is None:
            found = self.tracks[key] = TrackBuilder(evidence, witness)
        return found

    def supersede(self, evidence: Evidence, witness: str, seq: int, at: datetime) -> None:
        if track := self.tracks.get((evidence, witness)):
            track.supersede(seq, at)

    def build(self, length: int) -> History:
        if self.requests and (artifact := self.tracks.get(_ONE_ARTIFACT)):
            artifact.witness = self.requests[-1].witness
        tracks = {key: each.build() for key, each in self.tracks.items()}
        return History(
            tuple(self.requests),
            MappingProxyType(tracks),
            MappingProxyType(self.lost),
            self.finalized,
            self.closed,
            self.closed_at,
            self.revoked,
            self.added,
            self.erased,
            self.rendition,
            self.witness_status,
            self.required_at,
            length,
        )


def _add(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    state.added, state.erased = (payload, False) if event.payload is payload else (None, True)
    state.rendition = _text(payload, "sha256") or state.rendition
    state.witness_status = WitnessStatus.READY


def _require(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    """Hold everything back until a witness is ready. What is open may end, but not the artifact."""
    state.witness_status, state.required_at = WitnessStatus.REQUIRED, at
    state.supersede(*_ONE_ARTIFACT, event.seq, at)


def _render(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    state.rendition = _text(payload, "witness_hash") or state.rendition
    if event.kind == "document.witness.ready":
        state.witness_status = WitnessStatus.READY


def _request(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    """Take a request. It supersedes the artifact, and the attempts at another witness."""
    witness, listed = _text(payload, "witness_hash") or "", payload.get("required_evidence")
    state.supersede(*_ONE_ARTIFACT, event.seq, at)
    if state.requests and (before := state.requests[-1].witness) != witness:
        for each in REQUIRABLE:
            state.supersede(each, before, event.seq, at)
    if not payload:  # no guard accepts that, but the judge reads histories that no guard has checked
        state.requests.clear()
        return
    evidence = [each for each in REQUIRABLE if each in listed] if isinstance(listed, list | tuple) else []
    stage = _STAGES.get(_text(payload, "stage"), Stage.FINAL)
    state.requests.append(Request(event.seq, at, witness, tuple(evidence), stage, payload))
    state.rendition, state.witness_status = witness or state.rendition, WitnessStatus.READY


def _open(state: _State, event: EventLike, payload: Payload, at: datetime, evidence: Subject) -> None:
    number = _number(payload)
    if number and (track := state.track(evidence, payload)):
        run_at = moment(payload.get("run_at"), at)
        if not track.opened or number > track.opened[-1][0]:
            track.opened.append((number, event.seq, at, run_at, moment(payload.get("deadline"), run_at)))
            track.open.add(number)


def _grant(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    if track := state.track(_EVIDENCE.get(_text(payload, "evidence")), payload):
        track.spent = len(track.opened)


def _close(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    state.closed, state.closed_at = event.kind.partition(".")[2], at
    if state.closed == "revoked":
        state.revoked = Revocation(event.seq, at, _text(payload, "reason"))
    state.supersede(*_ONE_ARTIFACT, event.seq, at)


def _confirm(state: _State, event: EventLike, payload: Payload, at: datetime, evidence: Subject) -> None:
    track = state.track(evidence or _NETWORKS.get(_text(payload, "network")), payload)
    if track and payload:
        test_network = _text(payload, "test_network")
        local, number = bool(payload.get("local")), _number(payload)
        track.confirm(Ending(event.seq, at, True), local, test_network, number)
        if evidence is ARTIFACT:
            state.finalized = state.finalized or track.confirmed


def _submit(state: _State, event: EventLike, payload: Payload, at: datetime, _: Subject) -> None:
    number = _number(payload)
    track = state.track(_NETWORKS.get(_text(payload, "network")), payload)
    if track and number in track.open:
        track.submitted.setdefault(number, event.seq)


def _fail(state: _State, event: EventLike, payload: Payload, at: datetime, evidence: Subject) -> None:
    """End an attempt, or take the confirmation of a network or a timestamp back."""
    code = str(payload.get("failure_code", TIMEOUT))
    name = _text(payload, "network") if evidence is None else evidence.value
    ending = Ending(event.seq, at, False, code, str(payload.get("reason", "")))
    track = state.track(evidence or _NETWORKS.get(name), payload)
    taken_back, witness = code == _TAKES_BACK.get(evidence), _text(payload, "witness_hash")
    if taken_back and name is not None and witness is not None:
        state.lost[name, witness] = event.seq
    if taken_back and track and track.confirmed:
        track.confirmed, track.local, track.lost = None, False, ending
        track.test_network = None
        state.supersede(*_ONE_ARTIFACT, event.seq, at)
    elif track and (number := _number(payload)) in track.open:
        track.open.discard(number)
        track.endings[number] = ending


def _text(payload: Payload, name: str) -> str | None:
    value = payload.get(name)
    return value if isinstance(value, str) else None


def _number(payload: Payload) -> int:
    """Return the number of an attempt, or 0 if it is not a whole number from 1 on."""
    number = payload.get("attempt")
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return number if type(number) is int and 1 <= number <= LARGEST_ATTEMPT else 0


_Handler = Callable[[_State, EventLike, Payload, datetime, Subject], None]
_HANDLERS: Final[Mapping[str, tuple[_Handler, Subject]]] = {
    "document.added": (_add, None),
    "document.witness.required": (_require, None),
    "document.witness.ready": (_render, None),
    "document.signed": (_render, None),
    "document.protected.requested": (_request, None),
    "document.revoked": (_close, None),
    "document.archived": (_close, None),
    **{kind: (_open, evidence) for kind, evidence in JOB_EVIDENCE.items()},
    "protection.retry.requested": (_grant, None),
    "tsa.confirmed": (_confirm, Evidence.TSA),
    "tsa.failed": (_fail, Evidence.TSA),
    "anchor.submitted": (_submit, None),
    "anchor.confirmed": (_confirm, None),
    "anchor.timeout": (_fail, None),
    "anchor.failed": (_fail, None),
    "rekor.confirmed": (_confirm, Evidence.REKOR),
    "artifact.finalized": (_confirm, Evidence.ARTIFACT),
    "artifact.failed": (_fail, Evidence.ARTIFACT),
}
