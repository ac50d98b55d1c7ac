"""Runners of errands, and those who decide about them, killed with -9 at a step of their choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foja.engine.jobs.outcome import Done, Job, Outcome
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft
from tests.faults.mortal import Moment, Mortal, Step, die, outlive
from tests.job_domain import DECIDE, DECIDER, ERRAND, RUN, RUNNER, do_well, queue, wanted


@dataclass(frozen=True, slots=True)
class Order:
    """Which worker runs, and where it dies; with `killer`, in the work on the job of that key."""

    url: str
    source: str = RUNNER
    step: Step | None = None
    moment: Moment = "and not saved"
    killer: str | None = None


def run(order: Order) -> int | None:
    """Let a worker work until nothing is runnable; return how it ended."""
    return outlive(_work, order)


async def _work(order: Order) -> None:
    async with queue(order.url, order.source, make=Mortal) as opened:
        assert isinstance(opened, Mortal)
        opened.doom = (order.step, order.moment)

        async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
            if any(job.key == order.killer for job in jobs):
                die()
            return await (do_well(jobs) if order.source == RUNNER else _decide(opened, jobs))

        job_type = RUN if order.source == RUNNER else DECIDE
        await Worker(opened, job_type, opened.working(work)).run(until_idle=True)


async def _decide(opened: Mortal, jobs: Sequence[Job]) -> Sequence[Outcome]:
    rows = await opened.database.rows(
        "select entity_id, sealed from foja.entity where entity_id = any (%(ids)s)",
        ids=[job.entity_id for job in jobs],
    )
    sealed = dict(rows)
    return [_decision(job, sealed[job.entity_id]) for job in jobs]


def _decision(job: Job, read: int) -> Done:
    """Say up to where the stream was read, and ask for one errand per stream."""
    event = draft(
        ERRAND,
        job.entity_id,
        "errand.decided",
        {"read": read},
        source=DECIDER,
        expected_seq=read,
        tenant="default",
    )
    return Done([event], [wanted(job.entity_id, f"{RUN}:{job.entity_id}")], read=read)
