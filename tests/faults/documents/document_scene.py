"""Executors, timestampers and builders that can be killed with -9 at a step of their choice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foja
from foja.app import App
from tests.faults.mortal import Moment, Mortal, Step, outlive


@dataclass(frozen=True, slots=True)
class Order:
    """Whose worker dies, and where."""

    url: str
    home: Path
    job_type: str
    step: Step
    moment: Moment
    only: tuple[str, ...] = ("protect_document_v2", "run_tsa")
    batch: int = 0


def run(order: Order) -> int | None:
    """Do what is runnable; return how it ended."""
    return outlive(_work, order)


async def _work(order: Order) -> None:
    async with foja.connect(database_url=order.url, home=order.home, tsa_batch=order.batch) as app:
        await _doom(app, order)
        await app.work(until_idle=True, only=order.only)


async def _doom(app: App, order: Order) -> None:
    """Make the workers of this type mortal. The next `open` hands out the same ones."""
    opened = await app.workers.open()
    app.workers.open = _again(opened)  # type: ignore[method-assign]
    for worker in [each for each, _ in opened if each.type == order.job_type]:
        queue = worker._queue
        queue.__class__ = Mortal
        assert isinstance(queue, Mortal)
        queue.doom = (order.step, order.moment)
        worker._work = queue.working(worker._work)


def _again(opened: list[Any]) -> Any:
    async def open_(only: Collection[str] | None = None) -> list[Any]:
        return [pair for pair in opened if only is None or pair[1].type in only]

    return open_
