"""A monitor: how fast it reads a log, compared with how fast the sequencer makes one, and its memory.

The sequencer numbers and publishes the events of an installation, and the monitor reads their files. Then it
reads larger logs of few and of many streams: its memory depends on the streams, not on the entries.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

from bench.harness import Bench
from bench.outcome import Outcome, Table, at_least, at_most, spread
from foja.app import App
from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.source import Folder
from foja.engine.monitor.state import State
from foja.engine.settings import load
from foja.pure.core import tiles
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Signer

APPENDERS, BATCH, BLOCK = 100, 500, 65_536
FEW, FLAT, LEAST_SHARE = 1_000, 1.25, 4
KEY = Signer("log.example", bytes(32))


@dataclass(frozen=True, slots=True)
class Reading:
    """One log that was read: its size, entries per second, and the most memory that was traced."""

    entries: int
    streams: int
    speed: float
    memory: int


async def run(bench: Bench) -> Outcome:
    """Compare with the sequencer, then read logs of several sizes."""
    appended, entries = bench.scale.monitored
    bench.show_status("monitor · beside the sequencer")
    with bench.server.create_database() as database:
        made, read = await _beside_the_sequencer(database.url, database.folder, appended)
    sizes = ((entries // LEAST_SHARE, FEW), (entries, FEW), (entries, entries // 10))
    readings = [await _reading(bench, count, min(streams, count)) for count, streams in sizes]
    few, many = readings[:2]
    targets = [
        at_least(
            "A monitor reads larger logs",
            1,
            spread([each.speed / made for each in readings]),
            "the sequencer",
        ),
        at_least("A monitor reads a log of the sequencer", 1, spread([read / made]), "the sequencer"),
        at_most(
            f"Memory for {LEAST_SHARE} times the entries of as many streams", FLAT, many.memory / few.memory
        ),
    ]
    figures = {
        "sequencer": made,
        "monitor": read,
        "entries": entries,
        "memory": [each.memory for each in readings],
    }
    return Outcome([_speeds(made, read, appended), _table(readings)], targets, figures)


async def _timed(work: Awaitable[object]) -> float:
    gc.collect()
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _beside_the_sequencer(url: str, home: Path, count: int) -> tuple[float, float]:
    """Return entries per second of the sequencer and of the monitor."""
    async with App(load(home=home, database_url=url, checkpoint_seconds=0.01)) as app:
        for _ in range(APPENDERS):
            talk = await app.conversations.open(uuid4())
            for low in range(0, count // APPENDERS, BATCH):
                numbers = range(low, min(low + BATCH, count // APPENDERS))
                await talk.append_many(
                    [talk.draft("user_message_sent", {"content": str(n)}) for n in numbers]
                )
        made = await _timed(app.publish())
        state = State(app.signer.name)
        monitor = Monitor(Folder(home / "store" / "log"), [app.signer.verifier()], (), state)
        read = await _timed(monitor.poll(0))
        if state.findings:
            raise RuntimeError(f"the monitor found {state.findings[0].detail}")
        return state.entries / made, state.entries / read


async def _reading(bench: Bench, count: int, streams: int) -> Reading:
    """Read a log once for the time, and once for the memory, which tracing makes slow."""
    bench.show_status(f"monitor · {count:,} entries of {streams:,} streams")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await asyncio.to_thread(_write_log, folder / "1", count, streams)
        speed = count / await _timed(_follow(folder))
        tracemalloc.start()
        await _follow(folder)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return Reading(count, streams, speed, most)


async def _follow(folder: Path) -> None:
    await Monitor(Folder(folder), [KEY.verifier()], (), State(KEY.name)).poll(0)


def _write_log(root: Path, count: int, streams: int) -> None:
    """Write the entries and the checkpoint of a log."""
    frontier = Frontier()
    for low in range(0, count, BLOCK):
        numbers = range(low, min(count, low + BLOCK))
        entries = [
            leaf_entry(UUID(int=n % streams + 1), n // streams, sha256(n.to_bytes(8)).digest())
            for n in numbers
        ]
        frontier = frontier.extend(map(leaf_hash, entries))
        for at in range(0, len(entries), tiles.WIDTH):
            part = entries[at : at + tiles.WIDTH]
            path = root / tiles.entries_path((low + at) // tiles.WIDTH, len(part))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tiles.encode_entries(part))
    (root / "checkpoint").write_text(KEY.sign(Checkpoint(KEY.name, frontier.size, frontier.root()).text()))


def _speeds(made: float, read: float, appended: int) -> Table:
    rows = [("sequencer", f"{made:,.0f}"), ("monitor", f"{read:,.0f}")]
    return Table(f"A log of {appended:,} appended events", ("who", "entries/s"), rows)


def _table(readings: list[Reading]) -> Table:
    rows = [
        (f"{each.entries:,}", f"{each.streams:,}", f"{each.speed:,.0f}", f"{each.memory / 1e6:.1f} MB")
        for each in readings
    ]
    return Table("A monitor of larger logs", ("entries", "streams", "entries/s", "memory at most"), rows)
