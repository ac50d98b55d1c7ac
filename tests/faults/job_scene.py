"""Workers that can be killed with -9 at a step of their choice, before it is saved or after."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal

from foja.jobs.columns import Settled
from foja.jobs.outcome import Done, Job, Outcome, Verdict
from foja.jobs.queue import Queue
from foja.jobs.worker import Worker
from foja.ledger.event import draft
from tests.errands import DECIDE, DECIDER, ERRAND, RUN, RUNNER, fact, queue, wanted

Step = Literal["claim", "work", "settle"]
Moment = Literal["and not saved", "but saved"]


@dataclass(frozen=True, slots=True)
class Order:
    """Which worker runs, and where it dies; with `killer`, in the work on the job of that key."""

    url: str
    source: str = RUNNER
    step: Step | None = None
    moment: Moment = "and not saved"
    killer: str | None = None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Queue):
    """A queue whose process dies at a step."""

    order: Order

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        self._die("claim", "and not saved")
        jobs = await super().claim(job_type, most, worker)
        self._die("claim", "but saved")
        return jobs

    async def settle(self, settled: Settled) -> list[Verdict]:
        self._die("settle", "and not saved")
        verdicts = await super().settle(settled)
        self._die("settle", "but saved")
        return verdicts

    def _die(self, step: Step, moment: Moment) -> None:
        if (self.order.step, self.order.moment) == (step, moment):
            die()


def decision(job: Job, read: int) -> Done:
    """Say up to where the stream was read, and ask for one errand per stream."""
    event = draft(ERRAND, job.entity_id, "errand.decided", {"read": read}, source=DECIDER, expected_seq=read)
    return Done([event], [wanted(job.entity_id, f"{RUN}:{job.entity_id}")], read=read)


async def _work(order: Order) -> None:
    async with queue(order.url, order.source, make=Mortal) as opened:
        assert isinstance(opened, Mortal)
        opened.order = order

        async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
            if order.step == "work" or any(job.key == order.killer for job in jobs):
                die()
            if order.source == RUNNER:
                return [Done([fact(job)]) for job in jobs]
            rows = await opened.database.rows(
                "select entity_id, sealed from foja.entity where entity_id = any (%(ids)s)",
                ids=[job.entity_id for job in jobs],
            )
            sealed = dict(rows)
            return [decision(job, sealed[job.entity_id]) for job in jobs]

        await Worker(opened, RUN if order.source == RUNNER else DECIDE, work).run(until_idle=True)


def _main(order: Order) -> None:
    asyncio.run(_work(order))


def run(order: Order) -> int | None:
    """Let a worker work until nothing is runnable, in a process of its own; return how it ended."""
    process = get_context("spawn").Process(target=_main, args=[order], daemon=True)
    process.start()
    process.join(60)
    return process.exitcode
