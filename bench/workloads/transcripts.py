"""One transcript in every store: the time to write it, the time to read it again, and its bytes.

All stores write slices of it in turn, in random order, so that a slow moment of the machine affects
all of them.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median

from bench.contenders.checkpointers import Checkpointer
from bench.contenders.sqlalchemy_session import SqlAlchemySession
from bench.contenders.transcript import TOOLS, turn
from bench.contenders.transcript_stores import (
    FojaConversation,
    FojaSession,
    RedisStream,
    SqliteSession,
    TranscriptStore,
)
from bench.database import BenchDatabase
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, spread

SIZES = """\
The texts without any envelope have {text:.1f} MB in {turns:,} turns. The bytes are the growth of all tables,
indexes and large values from the first turn on (ours had {empty:.1f} MB after it), each store vacuumed before
and after, and after each slice, as autovacuum does in a longer run. Ours include the leaves of the log; its
tiles, about 90 bytes per event, are in the object store and are not included."""
PLAIN = """\
A plain channel of LangGraph stores all messages again at each of the four checkpoints of a turn, so its size
grows with the square of the turns. It gets only a few turns, and no target refers to it."""
OURS = "foja, a conversation"
OUR_DELTAS, PEER_DELTAS = "foja, LedgerSaver, deltas", "LangGraph AsyncPostgresSaver, deltas"
SLICES, RELOADS = 4, 2  # per round


@dataclass(slots=True)
class Entry:
    """A store and its measurements."""

    store: TranscriptStore
    database: BenchDatabase
    turns: int
    written: int = 0
    appends: list[float] = field(default_factory=list)  # seconds per turn, one number per slice
    reloads: list[float] = field(default_factory=list)  # seconds
    empty: int = 0  # bytes after the first turn
    size: int = 0  # bytes since

    @property
    def complete(self) -> bool:
        """Whether it stores the whole transcript."""
        return self.written == self.turns


def all_stores() -> list[TranscriptStore]:
    """Return all stores."""
    return [
        FojaConversation(OURS),
        FojaSession("foja, LedgerSession", "session for the OpenAI Agents SDK"),
        Checkpointer("foja, LedgerSaver", ours=True, delta=False),
        Checkpointer(OUR_DELTAS, ours=True, delta=True),
        SqlAlchemySession(),
        Checkpointer("LangGraph AsyncPostgresSaver", ours=False, delta=False),
        Checkpointer(PEER_DELTAS, ours=False, delta=True),
        SqliteSession(),
        RedisStream(),
    ]


async def run(bench: Bench) -> Outcome:
    """Write the transcript, measure its size, read it again."""
    turns = 2 * bench.scale.samples
    async with AsyncExitStack() as stack:
        entries = []
        for store in all_stores():
            database = stack.enter_context(bench.server.create_database())
            await store.open(database)
            stack.push_async_callback(store.close)
            entries.append(Entry(store, database, turns))
        await _write_first(bench, entries)
        await _write(bench, entries)
        await _measure_size(bench, entries)
        await _reload(bench, entries)
    return _outcome(entries, turns)


async def _write_first(bench: Bench, entries: Sequence[Entry]) -> None:
    """Write one turn: the first pages of every table and of its maps are not the price of a turn."""
    for entry in entries:
        await entry.store.write(turn(0))
        entry.written = 1
        await entry.store.work()
        bench.server.vacuum(entry.database)
        entry.empty = await entry.store.size()


async def _write(bench: Bench, entries: Sequence[Entry]) -> None:
    turns = entries[0].turns
    step = max(1, turns // (SLICES * bench.scale.rounds))
    for start in range(1, turns, step):
        bench.show_status(f"writing the transcript · turn {start:,} of {turns:,}")
        for entry in random.sample(entries, len(entries)):
            await _write_slice(entry, start, min(step, turns - start))
            await entry.store.work()
            bench.server.vacuum(entry.database)


async def _write_slice(entry: Entry, start: int, count: int) -> None:
    limit = entry.store.max_turns
    slice_ = [turn(n) for n in range(start, start + count) if limit is None or n < limit]
    if not slice_:
        return
    gc.collect()
    began = time.perf_counter()
    for each in slice_:
        await entry.store.write(each)
    entry.appends.append((time.perf_counter() - began) / len(slice_))
    entry.written += len(slice_)


async def _measure_size(bench: Bench, entries: Sequence[Entry]) -> None:
    for entry in entries:
        bench.show_status(f"measuring the size of {entry.store.name}")
        entry.size = await entry.store.size() - entry.empty


async def _reload(bench: Bench, entries: Sequence[Entry]) -> None:
    for each in range(RELOADS * bench.scale.rounds):
        bench.show_status(f"reading the transcript again · round {each + 1}")
        for entry in random.sample(entries, len(entries)):
            gc.collect()
            began = time.perf_counter()
            found = await entry.store.reload()
            entry.reloads.append(time.perf_counter() - began)
            if found != entry.written:
                raise RuntimeError(f"{entry.store.name} wrote {entry.written} turns, {found} are stored")


def _outcome(entries: Sequence[Entry], turns: int) -> Outcome:
    ours = next(entry for entry in entries if entry.store.name == OURS)
    peers = [entry for entry in entries if entry.store.role == "peer" and entry.complete]
    fastest = min(peers, key=lambda entry: median(entry.appends))
    reader = min(peers, key=lambda entry: median(entry.reloads))
    smallest = min(peers, key=lambda entry: entry.size)
    targets = [
        _at_most("Transcript, time to append", 1, _ratio(ours.appends, fastest.appends), fastest),
        _at_most("Transcript, time to reload", 0.9, _ratio(ours.reloads, reader.reloads), reader),
        _at_most("Transcript, bytes stored", 1.1, spread([ours.size / smallest.size]), smallest),
        *_delta_targets({entry.store.name: entry for entry in entries}),
    ]
    text = sum(turn(n).size for n in range(turns))
    return Outcome([_table(entries, ours, turns)], targets, _figures(entries), _remarks(text, turns, ours))


def _delta_targets(entries: Mapping[str, Entry]) -> list[Target]:
    own, peer = entries[OUR_DELTAS], entries[PEER_DELTAS]
    return [
        _at_most("LangGraph deltas, time to append", 1, _ratio(own.appends, peer.appends), peer),
        _at_most("LangGraph deltas, time to reload", 1, _ratio(own.reloads, peer.reloads), peer),
    ]


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _at_most(name: str, most: float, found: Spread, against: Entry) -> Target:
    required = f"≤ {most:g} × the best peer ({against.store.name})"
    return Target(name, required, f"{found}", passed=found.middle <= most)


def _table(entries: Sequence[Entry], ours: Entry, turns: int) -> Table:
    columns = (
        "store",
        "append, times ours",
        "reload, times ours",
        "bytes, times ours",
        "this run: ms per turn",
        "this run: ms to reload",
        "MB",
        "note",
    )
    return Table(
        f"A transcript of {turns:,} turns, {TOOLS} tools each", columns, [_row(e, ours) for e in entries]
    )


def _row(entry: Entry, ours: Entry) -> tuple[str, ...]:
    append = spread([a / b for a, b in zip(entry.appends, ours.appends, strict=False)])
    complete = entry.complete
    return (
        entry.store.name,
        f"{append}",
        f"{_ratio(entry.reloads, ours.reloads)}" if complete else "–",
        f"{entry.size / ours.size:.2f}" if complete else "–",
        f"{median(entry.appends) * 1000:.1f}",
        f"{median(entry.reloads) * 1000:,.0f}",
        f"{entry.size / 1e6:.1f}",
        entry.store.note if complete else f"{entry.store.note}: {entry.written:,} turns",
    )


def _figures(entries: Sequence[Entry]) -> dict[str, object]:
    return {
        entry.store.name: {
            "turns": entry.written,
            "append": entry.appends,
            "reload": entry.reloads,
            "bytes": entry.size,
        }
        for entry in entries
    }


def _remarks(text: int, turns: int, ours: Entry) -> list[str]:
    return [SIZES.format(text=text / 1e6, turns=turns, empty=ours.empty / 1e6), PLAIN]
