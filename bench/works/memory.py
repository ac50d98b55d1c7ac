"""Does a reader need more memory for a longer history? Each reads in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from uuid import UUID

import foja
from bench.harness import Bench
from bench.outcome import Outcome, Table, at_most
from bench.place import Room
from bench.works.history import fill
from foja.ledger.event import new_id

READERS = {"stream": "follower of one stream", "log": "follower of the log", "fsck": "fsck"}
FLAT = 1.1  # of the whole process: about eighty bytes kept per event would break it


async def run(bench: Bench) -> Outcome:
    """Read a shorter and then a longer history to its end."""
    entity, peaks = new_id(), []
    with bench.place.room() as room:
        for events in bench.scale.memory:
            await _grow(room, bench, entity, events)
            peaks.append({each: await _peak(each, room, bench, events, entity) for each in READERS})
    short, long = peaks
    words = "Memory at {:,} events of history against {:,}".format(*reversed(bench.scale.memory))
    targets = [at_most(f"{words}, {READERS[each]}", FLAT, long[each] / short[each]) for each in READERS]
    return Outcome([_table(bench, short, long)], targets, {"short": short, "long": long})


async def _grow(room: Room, bench: Bench, entity: UUID, events: int) -> None:
    """Let the stream have so many events, each in the log."""
    async with foja.connect(database_url=room.url, home=room.folder) as app:
        talk = await app.conversations.open(entity)
        await fill(talk, events - (await app.ledger.state(entity)).next_seq, bench.say)
        bench.say("numbering and signing")
        await app.work(until_idle=True)


async def _peak(reader: str, room: Room, bench: Bench, events: int, entity: UUID) -> int:
    """Return the most kilobytes a reader held that read everything."""
    bench.say(f"memory of {READERS[reader]} · {events:,} events")
    words = ("-m", "bench.works.reader", reader, room.url, str(room.folder), str(events), str(entity))
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the {READERS[reader]} failed; see above")
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
