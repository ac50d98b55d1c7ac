"""Jobs: listed, shown, changed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from foja.web.reference.answers.answer import Answer


class JobAnswer(Answer):
    """A job as it stands."""

    id: int
    type: str
    state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
    entity_id: str
    correlation_id: str
    tenant: str
    key: str
    priority: int
    tries: int
    max_tries: int
    first: bool = Field(description="of its stream; until it is, an earlier job has to end")
    run_at: str
    created_at: str
    finished_at: str | None
    worker: str | None
    lease_until: str | None
    last_error: str | None
    payload: Any
    on_death: Any


class JobPage(Answer):
    """Jobs, newest first."""

    jobs: list[JobAnswer]
    paused: list[str] = Field(description="the types of which nothing is claimed now")
    next: str | None = Field(description="the address of older ones")


class EnqueuedJob(Answer):
    """Whether a job is new; a type, a stream and a key make one job, for ever."""

    type: str
    entity_id: str
    key: str
    new: bool


class ChangedJobs(Answer):
    """How many jobs a request named, and how many it changed; the others are running or over."""

    asked: int
    done: int


class JobTypeAnswer(Answer):
    """Whether jobs of a type are claimed."""

    type: str
    paused: bool
