"""Jobs as callers see them, in Python, over HTTP and in a terminal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, get_args
from uuid import UUID

from foja.pure.pages import Rows

State: TypeAlias = Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
STATES: tuple[str, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands."""

    id: int
    type: str
    state: State
    entity_id: UUID
    correlation_id: UUID
    tenant: str
    key: str
    priority: int
    tries: int
    max_tries: int
    first: Annotated[bool, "of its stream; until it is, an earlier job has to end"]
    run_at: datetime
    created_at: datetime
    finished_at: datetime | None
    worker: str | None
    lease_until: datetime | None
    last_error: str | None
    payload: Any
    on_death: Any

    def document(self) -> dict[str, Any]:
        """Return the job as JSON carries it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class JobPage(Rows[JobView]):
    """Jobs, newest first."""

    jobs: list[JobView]
    paused: Annotated[list[str], "the types of which nothing is claimed now"]
    next: Annotated[int | None, "the last id, if there may be older ones"]


@dataclass(frozen=True, slots=True)
class WaitingType:
    """A type of which jobs are ready, and that no running worker does."""

    type: str
    jobs: Annotated[int, "how many are ready, up to 10,000"]
    ready_at: Annotated[datetime, "since then the oldest one could be done"]


@dataclass(frozen=True, slots=True)
class WaitingTypes(Rows[WaitingType]):
    """The types that wait for a worker."""

    types: list[WaitingType]


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """A queued job, and whether it is new; a type, a stream and a key make one job, for ever."""

    type: str
    entity_id: UUID
    key: str
    new: bool

    def __bool__(self) -> bool:
        return self.new


@dataclass(frozen=True, slots=True)
class ChangedJobs:
    """How many jobs were asked for, and how many were changed; the others are running or over."""

    asked: int
    done: int


@dataclass(frozen=True, slots=True)
class PausedType:
    """Whether jobs of a type are claimed."""

    type: str
    paused: bool
