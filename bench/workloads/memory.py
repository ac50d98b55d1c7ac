"""The memory of readers, by the length of the history. Each reader is a separate process."""

from __future__ import annotations

import asyncio
import sys
from uuid import UUID

import foja
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Table, at_most
from bench.workloads.history import fill
from foja.engine.ledger.event import new_id

READERS = {"stream": "follower of one stream", "log": "follower of the log", "fsck": "fsck"}
MAX_RATIO = 1.1  # of the whole process: about eighty bytes per event would exceed it


async def run(bench: Bench) -> Outcome:
    """Read a shorter and then a longer history to its end."""
    entity, peaks = new_id(), []
    with bench.server.create_database() as database:
        for events in bench.scale.memory:
            await _grow(database, bench, entity, events)
            peaks.append({each: await _peak(each, database, bench, events, entity) for each in READERS})
    short, long = peaks
    title = "Memory at {:,} events of history compared with {:,}".format(*reversed(bench.scale.memory))
    targets = [at_most(f"{title}, {READERS[each]}", MAX_RATIO, long[each] / short[each]) for each in READERS]
    return Outcome([_table(bench, short, long)], targets, {"short": short, "long": long})


async def _grow(database: BenchDatabase, bench: Bench, entity: UUID, events: int) -> None:
    """Append until the stream has `events` events, all in the log."""
    async with foja.connect(database_url=database.url, home=database.folder) as app:
        conversation = await app.conversations.open(entity)
        await fill(conversation, events - (await app.ledger.state(entity)).next_seq, bench.show_status)
        bench.show_status("numbering and signing")
        await app.work(until_idle=True)


async def _peak(reader: str, database: BenchDatabase, bench: Bench, events: int, entity: UUID) -> int:
    """Return the peak memory of a reader in kilobytes."""
    bench.show_status(f"memory of {READERS[reader]} · {events:,} events")
    arguments = (
        "-m",
        "bench.workloads.reader",
        reader,
        database.url,
        str(database.folder),
        str(events),
        str(entity),
    )
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the {READERS[reader]} failed; see its error above")
    count, peak = map(int, out.split())
    if count != events:
        raise RuntimeError(f"the {READERS[reader]} read {count} of {events} events")
    return peak


def _table(bench: Bench, short: dict[str, int], long: dict[str, int]) -> Table:
    few, many = bench.scale.memory
    rows = [
        (
            READERS[each],
            f"{long[each] / short[each]:.3f}",
            f"{short[each] / 1024:.0f} → {long[each] / 1024:.0f}",
        )
        for each in short
    ]
    columns = ("reader", f"peak at {many:,} events, times that at {few:,}", "this run: MiB")
    return Table("Memory of a reader, by the length of the history", columns, rows)
