"""Writers for the tests: many tasks, in many processes, through the public API."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import foja
from foja.app import App
from tests.processes import pool

SAY = "user_message_sent"
TOOL = "tool_use_completed"


def words(text: str) -> dict[str, object]:
    """Return the body of something said."""
    return {"content": text}


def result(name: str) -> dict[str, object]:
    """Return the body of a tool's result."""
    return {
        "tool_use_id": name,
        "tool_name": "search",
        "tool_result": {"rows": 2},
        "success": True,
        "error_message": None,
    }


def streams(count: int) -> list[UUID]:
    """Return names for new streams."""
    return [uuid4() for _ in range(count)]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one process has to write."""

    database_url: str
    home: Path
    streams: list[UUID]
    tasks: int
    appends: int
    seed: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer was told about one event."""

    task: tuple[int, int]
    stream: UUID
    seq: int
    id: UUID | None
    body_hash: bytes | None


def write(plan: Plan) -> list[Receipt]:
    """Do the plan in this process and return every answer, in the order of each task."""
    return asyncio.run(_write(plan))


async def _write(plan: Plan) -> list[Receipt]:
    async with foja.connect(database_url=plan.database_url, home=plan.home) as app:
        done = await asyncio.gather(*(_task(app, plan, number) for number in range(plan.tasks)))
    return [receipt for receipts in done for receipt in receipts]


async def _task(app: App, plan: Plan, number: int) -> list[Receipt]:
    choice = random.Random(plan.seed * 1000 + number)
    receipts = []
    for turn in range(plan.appends):
        talk = await app.conversations.open(choice.choice(plan.streams))
        event = await talk.append(SAY, words(f"{plan.seed}/{number}/{turn}"))
        receipts.append(Receipt((plan.seed, number), talk.id, event.seq, event.id, event.body_hash))
    return receipts


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Lend processes that share nothing with this one."""
    with pool(count) as lent:
        yield lent
