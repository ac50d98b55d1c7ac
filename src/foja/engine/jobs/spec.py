"""What a worker does, and how: written by a domain, read when a worker is wanted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foja.engine.jobs.outcome import Job, Outcome
from foja.engine.jobs.queue import Queue
from foja.pure.core.registry import Domain

Work: TypeAlias = Callable[[Sequence[Job]], Awaitable[Sequence[Outcome]]]


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """How the jobs of one type of a domain are done; `work` is made when a worker is wanted."""

    domain: Domain
    type: str
    work: Callable[[Queue], Work]
    batch: int = 100
    count: int = 1
    wake_on: Sequence[str] = ()  # domains whose growth may mean work
    before_claim: Callable[[Queue], Callable[[], Awaitable[None]]] | None = None
    after_checkpoint: bool = False  # what waits for a published checkpoint
    rests: bool = False  # after a snooze, since the jobs behind it would have to wait, too

    @property
    def source(self) -> str:
        """The source that records the events of these jobs."""
        job = self.domain.job(self.type)
        assert job is not None
        return job.source
