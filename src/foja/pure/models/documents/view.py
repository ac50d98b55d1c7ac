"""A document as people see it: its state, its timeline, and what happens next, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from foja.pure.models.documents.events import JOB_EVIDENCE, JOBS, EventLike, Evidence, Stage
from foja.pure.models.documents.lifecycle import Lifecycle
from foja.pure.models.documents.projection import EvidenceView, Projection, project
from foja.pure.models.documents.rules import DEFAULT, Policy
from foja.pure.models.documents.signatures import SignatureView, view_signatures
from foja.pure.models.documents.states import EvidenceStatus, Pipeline, State
from foja.pure.models.documents.track import TAKEN_BACK
from foja.pure.proofs.notices import remark
from foja.pure.quotation import quoted

EVIDENCE_NAMES: Final[Mapping[Evidence, str]] = {
    Evidence.TSA: "the timestamp",
    Evidence.POLYGON: "the anchor on Polygon",
    Evidence.BITCOIN: "the anchor on Bitcoin",
    Evidence.REKOR: "the entry in Rekor",
    Evidence.ARTIFACT: "the artifact",
}
LONGEST: Final = 640  # characters of a reason or of an error
EXECUTOR_JOB: Final = "protect_document_v2"
_ACTIVE: Final = (
    EvidenceStatus.REQUESTED,
    EvidenceStatus.SCHEDULED,
    EvidenceStatus.OPEN,
    EvidenceStatus.RECORDED,
)
_DECIDED: Final = (EvidenceStatus.REQUESTED, EvidenceStatus.RECORDED)  # the executor goes on
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


class Obstacles(NamedTuple):
    """What keeps a document waiting, and its events do not say."""

    paused: Sequence[str] = ()  # job types
    errors: Mapping[str, str] = MappingProxyType({})  # the last ones of jobs that go on, by type
    halted: str | None = None  # why the log is halted
    published_at: datetime | None = None  # the newest checkpoint
    held: Mapping[str, str] = MappingProxyType({})  # why no batch is made, by network
    batches: Mapping[str, str] = MappingProxyType({})  # what its batches wait for, by network
    unhandled: Sequence[str] = ()  # job types that no running worker does, though jobs of them are ready
    checked: int | None = None  # how many events the executor has seen; None: not known
    abilities: Sequence[str] = ()  # what this installation can produce


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One row of the list of documents."""

    id: UUID
    name: str | None
    state: str
    pipeline: Annotated[str | None, "what it waits for"]
    lifecycle: str
    witness_hash: str | None
    began_at: datetime
    given_up: Annotated[bool, "evidence has failed, and no attempt at it follows"]
    note: Annotated[str | None, "a remark that every report must show"] = None


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline, in the order of the ledger."""

    seq: int
    at: datetime | None
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document, computed from its events, as every door shows it."""

    id: UUID
    name: str | None
    predecessor: UUID | None
    successors: tuple[UUID, ...]
    witness_hash: str | None
    state: State
    pipeline: Pipeline | None
    lifecycle_status: Lifecycle
    stage: Stage | None
    required_evidence: tuple[Evidence, ...]
    evidence: tuple[EvidenceView, ...]
    signatures: tuple[SignatureView, ...]
    timeline: tuple[Moment, ...]
    explain: str
    note: str | None

    @property
    def lifecycle(self) -> Lifecycle:
        """The `lifecycle_status`, as the views of documents name it."""
        return self.lifecycle_status

    def document(self) -> dict[str, Any]:
        """Return the view as JSON carries it."""
        previous = str(self.predecessor) if self.predecessor else None
        ids = {"id": str(self.id), "predecessor": previous, "successors": [*map(str, self.successors)]}
        return asdict(self) | ids


@dataclass(frozen=True, slots=True)
class DocumentView(Projection):
    """A document, computed from its events."""

    id: UUID
    successors: tuple[UUID, ...]  # the documents that are new versions of this one
    signatures: tuple[SignatureView, ...]
    timeline: tuple[Moment, ...]
    explain: str
    note: str | None  # a remark that every report must show

    def shown(self) -> ShownDocument:
        """Return what every door shows of it."""
        same = {name: getattr(self, name) for name in ShownDocument.__slots__ if name != "lifecycle_status"}
        return ShownDocument(**same, lifecycle_status=self.lifecycle)

    def document(self) -> dict[str, Any]:
        """Return the view as JSON carries it."""
        return self.shown().document()


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure of `document.added` did not remove; each sentence says what and why."""

    stays: tuple[str, ...]


def view(
    document_id: UUID,
    events: Sequence[EventLike],
    *,
    abilities: AbstractSet[str],
    at: datetime,
    policy: Policy = DEFAULT,
    note: str | None = None,
    successors: Sequence[UUID] = (),
    obstacles: Obstacles | None = None,
) -> DocumentView:
    """Return the view of a document at a moment.

    `note` is the remark of this installation, used until there is a stamp.
    """
    checked = obstacles.checked if obstacles else None
    shown = project(events, abilities=abilities, at=at, policy=policy, checked=checked)
    signatures = view_signatures(events)
    return DocumentView(
        **{field.name: getattr(shown, field.name) for field in fields(shown)},
        id=document_id,
        successors=tuple(successors),
        signatures=signatures,
        timeline=timeline(events, signatures),
        explain=explain(shown, document_id, obstacles),
        note=remark(shown.local, note, shown.test_network),
    )


def timeline(events: Sequence[EventLike], signatures: Sequence[SignatureView] = ()) -> tuple[Moment, ...]:
    """Return one line per event; that of a signature tells what its check shows."""
    signed = {each.seq: f"signed, {each.status}: {each.signer or each.detail}" for each in signatures}
    return tuple(
        Moment(event.seq, event.at, event.kind, signed.get(event.seq) or _line(event)) for event in events
    )


def explain(shown: Projection, document_id: UUID | str = "ID", obstacles: Obstacles | None = None) -> str:
    """Return what the document waits for, since when, and what happens next and when.

    Without `obstacles` it is not known whether something else keeps it waiting.
    """
    unconfirmed = [each for each in shown.evidence if each.status is not EvidenceStatus.CONFIRMED]
    missing = [each for each in unconfirmed if each.status is not EvidenceStatus.SUPERSEDED]
    names = {each: _name(each, shown) for each in unconfirmed}
    superseded = [names[each] for each in unconfirmed if each.status is EvidenceStatus.SUPERSEDED]
    if shown.closed or shown.finalized_at:
        sentences = _ended(shown, [_sentence(each, names[each], None) for each in missing])
    elif not shown.required_evidence:
        requested = f"Protection was not requested yet. `foja protect {document_id}` requests it."
        return " ".join([*_held(shown), requested])
    else:
        sentences = _held(shown) + [
            (_obstructed(each, names[each], obstacles) or _sentence(each, names[each], document_id))
            + _details(each, obstacles)
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


def _held(shown: Projection) -> list[str]:
    """Return the sentence about a witness that is required, if one is."""
    since = shown.witness_required
    until = "nothing goes on until `document.witness.ready` names it"
    return [f"A witness is required since {_when(since)}: {until}."] if since else []


def _obstructed(each: EvidenceView, name: str, obstacles: Obstacles | None) -> str | None:
    """Return what an active evidence waits for, if it is not the work itself."""
    if obstacles is None or each.status not in _ACTIVE:
        return None
    waiting = f"Waiting for {name} since {_when(each.since)}"
    job = EXECUTOR_JOB if each.status in _DECIDED else JOBS[each.evidence]
    if job in obstacles.paused:
        deadline = ", and its deadline waits, too" if each.deadline else ""
        return f"{waiting}: {job} is paused{deadline}; `foja jobs resume {job}` continues it.{_why(each)}"
    if (why := obstacles.held.get(each.evidence)) and each.status is EvidenceStatus.OPEN:
        return (
            f"{waiting}: no batch is sent now ({quoted(why, LONGEST)}); attempt {each.attempt} ends by "
            f"{_when(each.deadline)}. `foja anchors` shows its network.{_why(each)}"
        )
    if each.evidence is not Evidence.ARTIFACT or each.status is not EvidenceStatus.OPEN:
        return None
    if obstacles.halted:
        return (
            f"{waiting}: attempt {each.attempt} cannot go on, because the log is halted "
            f"({quoted(obstacles.halted, LONGEST)}); see `foja log restart --help`.{_why(each)}"
        )
    if each.run_at and (obstacles.published_at is None or obstacles.published_at < each.run_at):
        newest = _when(obstacles.published_at) if obstacles.published_at else "not published yet"
        return (
            f"{waiting}: attempt {each.attempt} waits for a checkpoint (the newest: {newest}) and ends "
            f"by {_when(each.deadline)}.{_why(each)}"
        )
    return None


def _details(each: EvidenceView, obstacles: Obstacles | None) -> str:
    """Return what its batch waits for, the last error of its job if that was not said, and who is missing."""
    if obstacles is None or each.status not in _ACTIVE:
        return ""
    job = EXECUTOR_JOB if each.status in _DECIDED else JOBS[each.evidence]
    batch, error = obstacles.batches.get(each.evidence), obstacles.errors.get(job)
    told = f" Its batch waits: {quoted(batch, LONGEST)}." if batch else ""
    if error and error != obstacles.held.get(each.evidence):
        told += f" The last error of its job: {quoted(error, LONGEST)}."
    if job in obstacles.unhandled:
        told += f" No worker is running for {job}: start `foja worker`, or call `app.work()`."
    return told


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
    if each.status is EvidenceStatus.RECORDED:
        return (
            f"Waiting for {name} since {_when(each.since)}: a token is recorded, and the executor checks it "
            f"next.{why}"
        )
    if each.status is EvidenceStatus.FAILED and each.failure_code in TAKEN_BACK:
        return f"But {name} was taken back at {_when(each.since)}{_reason(each)}."
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
    return f" The last attempt ended with {each.failure_code}{_reason(each)}."


def _reason(each: EvidenceView) -> str:
    return f" ({quoted(each.reason, LONGEST)})" if each.reason else ""


def _when(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ") if at else "an unknown time"


def _line(event: EventLike) -> str:
    payload = event.payload if isinstance(event.payload, Mapping) else {}
    if event.kind in JOB_EVIDENCE:
        return f"{EVIDENCE_NAMES[JOB_EVIDENCE[event.kind]]} was requested, attempt {payload.get('attempt')}"
    details = [
        quoted(str(payload[name]))
        for name in ("network", "name", "gen_time", "failure_code", "reason", "evidence")
        if payload.get(name)
    ]
    text = EVENT_TEXTS.get(event.kind) or quoted(event.kind)
    return f"{text}: {', '.join(details)}" if details else text
