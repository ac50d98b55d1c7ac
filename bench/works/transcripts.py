"""The same transcript kept by everybody: how long to write it, how long to read it again, how many bytes.

Everybody writes a slice of it in turn, in another order every time, so that what slows the
machine for a while slows all of them.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median

from bench.contenders.checkpointers import Checkpointer
from bench.contenders.keepers import Keeper, OurConversation, OurSession, RedisStream, Sqlite
from bench.contenders.sessions import SqlAlchemySession
from bench.contenders.transcript import TOOLS, turn
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, spread
from bench.place import Room

SIZES = """\
What was said, without any envelope: {said:.1f} MB in {turns:,} turns. Bytes are those of the transcript: what
every table, index and large value grew by since the first turn (ours were {empty:.1f} MB before it). Ours
count the log's leaves too; its tiles, about 90 bytes an event, lie beside them in the store."""
PLAIN = """\
A plain channel of LangGraph stores all messages again at each of a turn's four checkpoints, which grows with
the square of the turns; it is given few of them, and no target is judged by it."""
OURS = "foja, a conversation"
SLICES, RELOADS = 4, 2  # a round


@dataclass(slots=True)
class Entry:
    """A keeper and what was measured of it."""

    keeper: Keeper
    room: Room
    turns: int
    written: int = 0
    appends: list[float] = field(default_factory=list)  # seconds a turn, one number per slice
    reloads: list[float] = field(default_factory=list)  # seconds
    empty: int = 0  # bytes before the first turn
    size: int = 0  # bytes since

    @property
    def whole(self) -> bool:
        """Did it keep the whole transcript?"""
        return self.written == self.turns


def field_of() -> list[Keeper]:
    """Return everybody who keeps transcripts."""
    return [
        OurConversation(OURS),
        OurSession("foja, LedgerSession", "our session for the OpenAI Agents SDK"),
        Checkpointer("foja, LedgerSaver", ours=True, delta=False),
        Checkpointer("foja, LedgerSaver, deltas", ours=True, delta=True),
        SqlAlchemySession(),
        Checkpointer("LangGraph AsyncPostgresSaver", ours=False, delta=False),
        Checkpointer("LangGraph AsyncPostgresSaver, deltas", ours=False, delta=True),
        Sqlite(),
        RedisStream(),
    ]


async def run(bench: Bench) -> Outcome:
    """Write the transcript, read it again, weigh it."""
    turns = 2 * bench.scale.samples
    async with AsyncExitStack() as stack:
        entries = []
        for keeper in field_of():
            room = stack.enter_context(bench.place.room())
            await keeper.open(room)
            stack.push_async_callback(keeper.close)
            entries.append(Entry(keeper, room, turns, empty=await keeper.size()))
        await _write(bench, entries)
        await _weigh(bench, entries)
        await _reload(bench, entries)
    return _outcome(entries, turns)


async def _write(bench: Bench, entries: Sequence[Entry]) -> None:
    turns = entries[0].turns
    step = max(1, turns // (SLICES * bench.scale.rounds))
    for start in range(0, turns, step):
        bench.say(f"writing the transcript · turn {start:,} of {turns:,}")
        for entry in random.sample(entries, len(entries)):
            await _write_slice(entry, start, min(step, turns - start))
            await entry.keeper.rest()


async def _write_slice(entry: Entry, start: int, count: int) -> None:
    most = entry.keeper.most
    slice_ = [turn(n) for n in range(start, start + count) if most is None or n < most]
    if not slice_:
        return
    gc.collect()
    began = time.perf_counter()
    for each in slice_:
        await entry.keeper.write(each)
    entry.appends.append((time.perf_counter() - began) / len(slice_))
    entry.written += len(slice_)


async def _weigh(bench: Bench, entries: Sequence[Entry]) -> None:
    for entry in entries:
        bench.say(f"weighing {entry.keeper.name}")
        bench.place.settle(entry.room)
        entry.size = await entry.keeper.size() - entry.empty


async def _reload(bench: Bench, entries: Sequence[Entry]) -> None:
    for each in range(RELOADS * bench.scale.rounds):
        bench.say(f"reading the transcript again · time {each + 1}")
        for entry in random.sample(entries, len(entries)):
            gc.collect()
            began = time.perf_counter()
            found = await entry.keeper.reload()
            entry.reloads.append(time.perf_counter() - began)
            if found != entry.written:
                raise RuntimeError(f"{entry.keeper.name} wrote {entry.written} turns, {found} are there")


def _outcome(entries: Sequence[Entry], turns: int) -> Outcome:
    ours = next(entry for entry in entries if entry.keeper.name == OURS)
    peers = [entry for entry in entries if entry.keeper.role == "peer" and entry.whole]
    fastest = min(peers, key=lambda entry: median(entry.appends))
    reader = min(peers, key=lambda entry: median(entry.reloads))
    smallest = min(peers, key=lambda entry: entry.size)
    targets = [
        _at_most("Transcript, time to append", 1, _ratio(ours.appends, fastest.appends), fastest),
        _at_most("Transcript, time to reload", 1, _ratio(ours.reloads, reader.reloads), reader),
        _at_most("Transcript, bytes stored", 1.2, spread([ours.size / smallest.size]), smallest),
    ]
    said = sum(turn(n).size for n in range(turns))
    return Outcome([_table(entries, ours, turns)], targets, _figures(entries), _remarks(said, turns, ours))


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _at_most(name: str, most: float, found: Spread, against: Entry) -> Target:
    words = f"≤ {most:g} × the best peer ({against.keeper.name})"
    return Target(name, words, f"{found}", passed=found.middle <= most)


def _table(entries: Sequence[Entry], ours: Entry, turns: int) -> Table:
    columns = (
        "keeper",
        "append, times ours",
        "reload, times ours",
        "bytes, times ours",
        "this run: ms a turn",
        "this run: ms to reload",
        "MB",
        "note",
    )
    return Table(
        f"A transcript of {turns:,} turns, {TOOLS} tools each", columns, [_row(e, ours) for e in entries]
    )


def _row(entry: Entry, ours: Entry) -> tuple[str, ...]:
    append = spread([a / b for a, b in zip(entry.appends, ours.appends, strict=False)])
    whole = entry.whole
    return (
        entry.keeper.name,
        f"{append}",
        f"{_ratio(entry.reloads, ours.reloads)}" if whole else "–",
        f"{entry.size / ours.size:.2f}" if whole else "–",
        f"{median(entry.appends) * 1000:.1f}",
        f"{median(entry.reloads) * 1000:,.0f}",
        f"{entry.size / 1e6:.1f}",
        entry.keeper.note if whole else f"{entry.keeper.note}: {entry.written:,} turns",
    )


def _figures(entries: Sequence[Entry]) -> dict[str, object]:
    return {
        entry.keeper.name: {
            "turns": entry.written,
            "append": entry.appends,
            "reload": entry.reloads,
            "bytes": entry.size,
        }
        for entry in entries
    }


def _remarks(said: int, turns: int, ours: Entry) -> list[str]:
    return [SIZES.format(said=said / 1e6, turns=turns, empty=ours.empty / 1e6), PLAIN]
