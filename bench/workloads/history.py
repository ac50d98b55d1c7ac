"""The cost of one append to a short and to a long stream.

Measured by `explain` on the function that every append calls. The time is that of the server,
without the commit: a slow disk would hide the difference.
"""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import foja
from bench.contenders.connections import execute, query
from bench.contenders.payloads import MESSAGE, message
from bench.database import BenchDatabase
from bench.harness import Bench, ShowStatus
from bench.outcome import Outcome, Table, at_most
from foja.domains.conversations.service import Conversation
from foja.engine.driver.database import Connection, connect
from foja.engine.driver.encoding import Packed
from foja.engine.ledger.assembly import API
from foja.engine.ledger.receipts import draft_record

PAGE = 500
PER_STREAM = 10  # samples of one short stream: more would make its history longer
EXPLAIN = "explain (analyze, buffers, wal, format json) "
_keys = itertools.count()


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one append."""

    server: float
    call: float
    buffers: int
    wal: int
    images: int


@dataclass(frozen=True, slots=True)
class Mean:
    """The average cost of appends at one length of history."""

    history: int
    server: float
    call: float
    buffers: float
    wal: float
    images: float


async def run(bench: Bench) -> Outcome:
    """Fill streams of every length, then append to them in random order."""
    with bench.server.create_database() as database:
        bench.server.checkpoint()  # none may run in between: it would add page images to the WAL
        costs = await _measure(database, bench)
    means = [_mean(history, found) for history, found in costs.items()]
    first, last = means[0], means[-1]
    title = f"Append at {last.history:,} events of history compared with {first.history:,}"
    targets = [
        at_most(f"{title}, buffers", 1.15, last.buffers / first.buffers),
        at_most(f"{title}, WAL bytes", 1.15, last.wal / first.wal),
        at_most(f"{title}, time", 1.3, last.server / first.server),
    ]
    return Outcome([_table(means)], targets, {str(each.history): each.buffers for each in means})


async def fill(conversation: Conversation, count: int, show_status: ShowStatus) -> None:
    """Append `count` events to a stream."""
    for start in range(0, count, PAGE):
        show_status(f"filling a stream · {start:,} of {count:,}")
        size = min(PAGE, count - start)
        await conversation.append_many([_draft(conversation, start + n) for n in range(size)])


def _draft(conversation: Conversation, call: int) -> Any:
    return conversation.draft(MESSAGE.kind, message(call), idempotency_key=f"history-{next(_keys)}")


async def _measure(database: BenchDatabase, bench: Bench) -> dict[int, list[Cost]]:
    scale = bench.scale
    async with foja.connect(database_url=database.url, home=database.folder) as app:
        await execute(database.url, "want_executor")
        streams: list[tuple[int, Conversation]] = []
        for history in scale.histories:
            count = max(1, min(scale.samples // PER_STREAM, 30_000 // history))
            for _ in range(count):
                conversation: Conversation = await app.conversations.open()
                await fill(conversation, history, bench.show_status)
                streams += [(history, conversation)] * (scale.samples // count)
    bench.server.vacuum(database)
    bench.show_status("appending to long and short streams")
    random.shuffle(streams)
    async with await connect(database.url, f"foja_{API}") as connection:
        await connection.execute("set foja.tenant = 'default'")
        for _, conversation in streams[:PER_STREAM]:  # warm up: functions are compiled, plans are made
            await _cost(connection, conversation)
        costs: dict[int, list[Cost]] = {history: [] for history in scale.histories}
        for history, conversation in streams:
            costs[history].append(await _cost(connection, conversation))
        return costs


async def _cost(connection: Connection, conversation: Conversation) -> Cost:
    draft = _draft(conversation, 0)
    values = {"draft": Packed(draft_record(draft))}
    began = time.perf_counter()
    row = await (await connection.execute(EXPLAIN + query("append_event_bytes"), values)).fetchone()
    call = (time.perf_counter() - began) * 1_000
    assert row is not None
    [plan] = row[0]
    top = plan["Plan"]
    buffers = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return Cost(plan["Execution Time"], call, buffers, top["WAL Bytes"], top["WAL FPI"])


def _mean(history: int, costs: list[Cost]) -> Mean:
    return Mean(
        history,
        median(each.server for each in costs),
        median(each.call for each in costs),
        fmean(each.buffers for each in costs),
        fmean(each.wal for each in costs),
        fmean(each.images for each in costs),
    )


def _table(means: list[Mean]) -> Table:
    first = means[0]
    rows = [
        (
            f"{each.history:,}",
            f"{each.buffers / first.buffers:.3f}",
            f"{each.wal / first.wal:.3f}",
            f"{each.server / first.server:.3f}",
            f"{each.buffers:.1f}",
            f"{each.wal:,.0f} ({each.images:.2f})",
            f"{each.server:.3f} ({each.call:.3f})",
        )
        for each in means
    ]
    columns = (
        "events of history",
        "buffers, times the first",
        "WAL bytes, times the first",
        "time, times the first",
        "this run: buffers",
        "this run: WAL bytes (full page images)",
        "this run: ms in the server (with commit)",
    )
    return Table("The cost of one append, by the length of its stream", columns, rows)
