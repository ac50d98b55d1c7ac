"""What one append costs in a stream of ten events, and of a hundred thousand.

Asked of the server itself, around the same function call every append makes.
Time is the server's, without the commit: a disk that is slow for everybody
would hide the difference.
"""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import foja
from bench.contenders.connections import tell
from bench.contenders.text import KIND, payload, query
from bench.harness import Bench, Say
from bench.outcome import Outcome, Table, at_most
from bench.place import Room
from foja.app import API
from foja.conversations.service import Conversation
from foja.driver.database import Connection, connect
from foja.driver.encoding import Packed
from foja.ledger.receipts import draft_record

PAGE = 500
PER_STREAM = 10  # samples taken of one short stream: more of them would be a longer history
EXPLAIN = "explain (analyze, buffers, wal, format json) "
_keys = itertools.count()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one append took."""

    server: float
    call: float
    buffers: int
    wal: int
    images: int


@dataclass(frozen=True, slots=True)
class Mean:
    """What appends at one length of history took, on average."""

    history: int
    server: float
    call: float
    buffers: float
    wal: float
    images: float


async def run(bench: Bench) -> Outcome:
    """Fill streams of every length, then append to them in turns."""
    with bench.place.room() as room:
        bench.place.checkpoint()  # so that none comes between: it would add its page images to what follows
        costs = await _measure(room, bench)
    means = [_mean(history, found) for history, found in costs.items()]
    first, last = means[0], means[-1]
    words = f"Append at {last.history:,} events of history against {first.history:,}"
    targets = [
        at_most(f"{words}, buffers", 1.15, last.buffers / first.buffers),
        at_most(f"{words}, WAL bytes", 1.15, last.wal / first.wal),
        at_most(f"{words}, time", 1.3, last.server / first.server),
    ]
    return Outcome([_table(means)], targets, {str(each.history): each.buffers for each in means})


async def fill(talk: Conversation, count: int, say: Say) -> None:
    """Let a stream grow by so many events."""
    for start in range(0, count, PAGE):
        say(f"filling a stream · {start:,} of {count:,}")
        size = min(PAGE, count - start)
        await talk.append_many([_draft(talk, start + n) for n in range(size)])


def _draft(talk: Conversation, call: int) -> Any:
    return talk.draft(KIND, payload(call), idempotency_key=f"history-{next(_keys)}")


async def _measure(room: Room, bench: Bench) -> dict[int, list[Cost]]:
    scale = bench.scale
    async with foja.connect(database_url=room.url, home=room.folder) as app:
        await tell(room.url, "want_executor")
        streams: list[tuple[int, Conversation]] = []
        for history in scale.histories:
            wide = max(1, min(scale.samples // PER_STREAM, 30_000 // history))
            for _ in range(wide):
                talk = await app.conversations.open()
                await fill(talk, history, bench.say)
                streams += [(history, talk)] * (scale.samples // wide)
    bench.place.settle(room)
    bench.say("appending to long and short streams")
    random.shuffle(streams)
    async with await connect(room.url, f"foja_{API}") as connection:
        for _, talk in streams[:PER_STREAM]:  # functions compiled, plans made
            await _cost(connection, talk)
        costs: dict[int, list[Cost]] = {history: [] for history in scale.histories}
        for history, talk in streams:
            costs[history].append(await _cost(connection, talk))
        return costs


async def _cost(connection: Connection, talk: Conversation) -> Cost:
    draft = _draft(talk, 0)
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
