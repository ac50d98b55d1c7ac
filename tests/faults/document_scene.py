"""Executors and timestampers that can be killed with -9 at a step of their choice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import foja
from foja.app import App
from foja.jobs.columns import Settled
from foja.jobs.outcome import Job, Outcome, Verdict
from foja.jobs.queue import Queue
from foja.jobs.worker import Work

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


@dataclass(frozen=True, slots=True)
class Order:
    """Whose worker dies, and where."""

    url: str
    home: Path
    job_type: str
    step: Step
    moment: Moment
    only: tuple[str, ...] = ("protect_document_v2", "run_tsa")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Queue):
    """A queue whose process dies at a step."""

    order: Order

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        self.die("claim", "and not saved")
        jobs = await super().claim(job_type, most, worker)
        if jobs:
            self.die("claim", "but saved")
        return jobs

    async def settle(self, settled: Settled) -> list[Verdict]:
        self.die("settle", "and not saved")
        verdicts = await super().settle(settled)
        self.die("settle", "but saved")
        return verdicts

    def die(self, step: Step, moment: Moment) -> None:
        if (self.order.step, self.order.moment) == (step, moment):
            _die()


def _doom(app: App, order: Order) -> None:
    for worker in [each for each in app._workers if each.type == order.job_type]:
        queue, work = worker._queue, worker._work
        queue.__class__ = Mortal
        assert isinstance(queue, Mortal)
        queue.order = order
        worker._work = _mortal(queue, work)


def _mortal(queue: Mortal, work: Work) -> Work:
    async def die(jobs: Sequence[Job]) -> Sequence[Outcome]:
        queue.die("work", "and not saved")
        outcomes = await work(jobs)
        queue.die("work", "but saved")
        return outcomes

    return die


async def _work(order: Order) -> None:
    async with foja.connect(database_url=order.url, home=order.home) as app:
        await app._chosen(None)
        _doom(app, order)
        await app.work(until_idle=True, only=order.only)


def _main(order: Order) -> None:
    asyncio.run(_work(order))


def run(order: Order) -> int | None:
    """Work in a process of its own until nothing is runnable, or until it dies; return how it ended."""
    process = get_context("spawn").Process(target=_main, args=[order], daemon=True)
    process.start()
    process.join(60)
    return process.exitcode
