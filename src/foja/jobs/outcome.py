"""A job as a worker is handed it, and what a worker may say about how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from foja.ledger.event import Draft

State: TypeAlias = Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]


class Job(NamedTuple):
    """Work that was leased to us. The token is what proves it."""

    id: int
    type: str
    entity_id: UUID
    tenant: str
    key: str
    payload: Any
    tries: int
    max_tries: int
    token: UUID
    lease_seconds: float
    alone: bool = False  # a worker died with it: nothing else should run beside it
    corrected: bool = False  # it came with a correlation that was not its stream

    @property
    def correlation_id(self) -> UUID:
        """The stream, always."""
        return self.entity_id


@dataclass(frozen=True, slots=True)
class NewJob:
    """Work to be asked for. What was asked for under the same key before is not asked for again.

    `on_death` is the event {kind, v, payload} that is appended if the job dies.
    """

    type: str
    entity_id: UUID
    key: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    priority: int = 1
    on_death: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The facts that were found and the jobs that follow, all recorded or none.

    With `read`, only while the stream is sealed up to that number: otherwise the job is queued again.
    """

    events: Sequence[Draft] = ()
    jobs: Sequence[NewJob] = ()
    read: int | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed and may succeed later; after so many seconds, or as the type says."""

    error: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Retrying cannot help. `events` are said instead of the job's on_death event."""

    error: str
    events: Sequence[Draft] = ()


@dataclass(frozen=True, slots=True)
class Snooze:
    """There is nothing to do before so many seconds have passed. This was no try."""

    seconds: float


Outcome: TypeAlias = Done | Retry | GiveUp | Snooze

# `lost`: the lease is somebody else's, nothing was changed. `already`: settled before, the answer was
# lost. `again`: the stream grew since it was read, nothing was appended, the job is queued.
Settlement: TypeAlias = Literal["done", "retry", "give_up", "snooze", "again", "already", "lost"]
