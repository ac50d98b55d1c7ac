"""Many writers in many processes on the same few streams."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import foja
from tests.races.auditor import Books, audit_idle
from tests.races.writers import Plan, Receipt, processes, streams, write

PROCESSES, TASKS, APPENDS, STREAMS = 4, 16, 500, 8


async def write_in_processes(url: str, home: Path, names: list[UUID]) -> list[Receipt]:
    loop = asyncio.get_running_loop()
    with processes(PROCESSES) as pool:
        plans = [Plan(url, home, names, TASKS, APPENDS, number) for number in range(PROCESSES)]
        done = await asyncio.gather(*(loop.run_in_executor(pool, write, plan) for plan in plans))
    return [receipt for receipts in done for receipt in receipts]


def check_receipts(receipts: Sequence[Receipt], books: Books) -> None:
    """Every answer is a row, no two answers are the same row, and no row is without an answer."""
    stored = {
        (stream.id, sheet.seq, sheet.id, sheet.body_hash)
        for stream in books.streams.values()
        for sheet in stream.events()
    }
    told = [(receipt.stream, receipt.seq, receipt.id, receipt.body_hash) for receipt in receipts]
    assert len(told) == len(set(told))
    assert set(told) == stored


def check_callers(receipts: Sequence[Receipt]) -> None:
    """What one caller says after another thing comes after it."""
    last: defaultdict[tuple[tuple[int, int], UUID], int] = defaultdict(lambda: -1)
    for receipt in receipts:
        assert receipt.seq > last[receipt.task, receipt.stream]
        last[receipt.task, receipt.stream] = receipt.seq


async def test_four_processes_of_sixteen_tasks_share_eight_streams(database_url: str, tmp_path: Path) -> None:
    names = streams(STREAMS)
    async with foja.connect(database_url=database_url, home=tmp_path) as app:
        worker = asyncio.create_task(app.work())
        receipts = await write_in_processes(database_url, tmp_path, names)
        worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await worker
        await app.work(until_idle=True)
    books = audit_idle(database_url)
    total = PROCESSES * TASKS * APPENDS
    assert sum(stream.sealed for stream in books.streams.values()) == total
    assert [log.size for log in books.logs] == [total]
    assert set(books.streams) == set(names)
    check_receipts(receipts, books)
    check_callers(receipts)
