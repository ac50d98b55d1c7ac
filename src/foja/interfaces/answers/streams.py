"""What is given and answered about streams, their events, and the approvals of conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from foja.engine.ledger.event import Event
from foja.interfaces.answers.problem import Problem
from foja.pure.core.bundle.proof_file import proof_file
from foja.pure.judge.report import Report
from foja.pure.models.conversations.approvals import Approval
from foja.pure.pages import Rows
from foja.verification import verify


@dataclass(frozen=True, slots=True)
class StreamId:
    """A stream in a list."""

    id: UUID


@dataclass(frozen=True, slots=True)
class FirstEvent:
    """The first event of a conversation."""

    kind: str
    payload: dict[str, Any]
    actor: str | None = None
    v: int = 1


@dataclass(frozen=True, slots=True)
class OpenedConversation:
    """A conversation, with its first event if the request had one."""

    id: UUID
    event: Event | None


@dataclass(frozen=True, slots=True)
class ConversationPage(Rows[StreamId]):
    """Conversations, newest first."""

    conversations: list[StreamId]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class StreamPage(Rows[StreamId]):
    """Streams of a domain, newest first."""

    streams: list[StreamId]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class DomainList(Rows[Mapping[str, Any]]):
    """The registered domains, each as the database has it."""

    domains: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream is."""

    id: UUID
    next_seq: Annotated[int, "the number of its next event"]
    sealed: Annotated[int, "how many of its events are sealed"]
    gaps: Annotated[int, "how many of its numbers were given and voided"]


@dataclass(frozen=True, slots=True)
class DomainStreamState(StreamState):
    """How far a stream of a domain is."""

    domain: str


@dataclass(frozen=True, slots=True)
class ErasedEvent:
    """An event whose body was erased."""

    seq: int
    erased: bool = True


@dataclass(frozen=True, slots=True)
class BatchEvent:
    """An event of a batch; its key makes it idempotent by itself."""

    kind: str
    payload: dict[str, Any]
    actor: str | None = None
    v: int = 1
    expected_seq: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result for one event of a batch: its event, or why there is none."""

    event: Event | None
    new: Annotated[bool, "whether it was recorded by this request"]
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The result for each event of a batch, in its order."""

    appended: Annotated[int, "how many events are new"]
    results: list[BatchResult]


@dataclass(frozen=True, slots=True)
class ProvenEvent:
    """An event and the proof that the log has it, as the texts of their files."""

    proof: Annotated[str, "as `.tlog-proof` (c2sp.org/tlog-proof)"]
    event: Annotated[str, "as `.event.json`"]
    arguments: Annotated[str | None, "the arguments whose SHA-256 the event names, if any"]
    index: Annotated[int, "its position in the log, from 0 on"]
    size: Annotated[int, "how many events the signed checkpoint covers"]
    key: Annotated[str, "the public key of the log; trust it only from another source"]

    def file(self) -> bytes:
        """Return event, proof and checkpoint as one file, which `foja verify` and other tools check."""
        return proof_file(self.event, self.proof, self.arguments)

    def save(self, path: str | PathLike[str]) -> None:
        """Write `file` to a path, which usually ends in `.foja-proof`."""
        Path(path).write_bytes(self.file())

    def verify(self, trust: str | bytes | Sequence[str | bytes]) -> Report:
        """Judge it here, without the server. `trust` is the key of the log as you know it."""
        return verify(self.file(), trust)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Reserved numbers, and the token that fills them."""

    token: UUID
    seqs: list[int]
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Deadline:
    """The new deadline of the slots that are still open."""

    deadline: datetime


@dataclass(frozen=True, slots=True)
class VoidedSlot:
    """A number that was voided."""

    seq: int
    voided: bool = True


@dataclass(frozen=True, slots=True)
class ApprovalList(Rows[Approval]):
    """The approvals of a conversation, in order."""

    approvals: list[Approval]


@dataclass(frozen=True, slots=True)
class DecidedApproval(Approval):
    """An approval with the decision that counts."""

    mine: Annotated[bool, "whether it is the decision of this request"] = False

    @property
    def approval(self) -> Approval:
        """The approval without whose decision it is."""
        return Approval(**{each.name: getattr(self, each.name) for each in fields(Approval)})

    @property
    def decision(self) -> str:
        """approved, denied, expired, or erased if it is not known any more."""
        return self.state
