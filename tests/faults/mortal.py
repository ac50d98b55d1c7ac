"""A worker in a process of its own that dies with -9 at a step: before it is saved, or after."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar

import pytest

from foja.engine.jobs.encoding import Settled
from foja.engine.jobs.outcome import Job, Outcome, Settlement
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.spec import Work
from tests.processes import begin

Step = Literal["claim", "work", "settle"]
Moment = Literal["and not saved", "but saved"]
STEPS: list[tuple[Step, Moment]] = [
    ("claim", "and not saved"),
    ("claim", "but saved"),
    ("work", "and not saved"),
    ("work", "but saved"),
    ("settle", "and not saved"),
    ("settle", "but saved"),
]
# For a test that dies at each of them in turn: half of them, and all in the long run.
KILLS = [pytest.param(STEPS[1::2], id="sample"), pytest.param(STEPS, id="all", marks=pytest.mark.long)]
KILLED = -9
Order = TypeVar("Order")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Queue):
    """A queue whose process dies at a step, or at none."""

    doom: tuple[Step | None, Moment] = (None, "and not saved")

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        self._reach("claim", "and not saved")
        jobs = await super().claim(job_type, most, worker)
        if jobs:
            self._reach("claim", "but saved")
        return jobs

    async def settle(self, settled: Settled) -> list[Settlement]:
        self._reach("settle", "and not saved")
        verdicts = await super().settle(settled)
        self._reach("settle", "but saved")
        return verdicts

    def working(self, work: Work) -> Work:
        """Return the work as somebody mortal does it."""

        async def do(jobs: Sequence[Job]) -> Sequence[Outcome]:
            self._reach("work", "and not saved")
            outcomes = await work(jobs)
            self._reach("work", "but saved")
            return outcomes

        return do

    def _reach(self, step: Step, moment: Moment) -> None:
        if self.doom == (step, moment):
            die()


def outlive(work: Callable[[Order], Coroutine[Any, Any, None]], order: Order) -> int | None:
    """Do this in a process of its own until nothing is runnable, or until it dies; return how it ended."""
    process = begin(_main, work, order)
    process.join(60)
    return process.exitcode


def _main(work: Callable[[Order], Coroutine[Any, Any, None]], order: Order) -> None:
    asyncio.run(work(order))
