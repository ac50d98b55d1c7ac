"""`python -m bench.monitor`: how fast a monitor reads a log, beside how fast the sequencer makes one.

The sequencer numbers and publishes the events of an installation, and the monitor reads their files. Then it
reads larger logs of few and of many streams, to show what its memory depends on.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Awaitable
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

from foja.app import App
from foja.core import tiles
from foja.core.chain import leaf_entry
from foja.core.merkle import Frontier, leaf_hash
from foja.core.note import Checkpoint, Signer
from foja.monitor.follower import Monitor
from foja.monitor.source import Folder
from foja.monitor.state import State
from foja.settings import load

STREAMS, BATCH, BLOCK = 100, 500, 65_536
KEY = Signer("log.example", bytes(32))


async def timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def against_the_sequencer(home: Path, count: int) -> tuple[float, float]:
    """Return entries per second of the sequencer and of the monitor."""
    async with App(load(home=home, checkpoint_seconds=0.01)) as app:
        for _ in range(STREAMS):
            talk = await app.conversations.open(uuid4())
            for low in range(0, count // STREAMS, BATCH):
                numbers = range(low, min(low + BATCH, count // STREAMS))
                await talk.append_many(
                    [talk.draft("user_message_sent", {"content": str(n)}) for n in numbers]
                )
        made = await timed(app.publish())
        state = State(app.signer.name)
        monitor = Monitor(Folder(home / "store" / "log"), [app.signer.verifier()], (), state)
        read = await timed(monitor.poll(0))
        assert not state.findings
        return state.entries / made, state.entries / read


def write_log(root: Path, count: int, streams: int) -> None:
    """Write a log of this many entries, block by block, as the sequencer does."""
    frontier, edges = Frontier(), dict[tiles.Tile, bytes]()
    for low in range(0, count, BLOCK):
        numbers = range(low, min(count, low + BLOCK))
        entries = [
            leaf_entry(UUID(int=n % streams + 1), n // streams, sha256(n.to_bytes(8)).digest())
            for n in numbers
        ]
        hashes = [*map(leaf_hash, entries)]
        grown = tiles.grow(low, hashes, edges)
        edges = {
            tile: data for tile, data in grown.items() if tile in set(tiles.edge_tiles(low + len(hashes)))
        }
        frontier = frontier.extend(hashes)
        for at in range(0, len(entries), tiles.WIDTH):
            part = entries[at : at + tiles.WIDTH]
            path = root / tiles.entries_path((low + at) // tiles.WIDTH, len(part))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tiles.encode_entries(part))
    note = KEY.sign(Checkpoint(KEY.name, frontier.size, frontier.root()).text())
    (root / "checkpoint").write_text(note)


async def with_memory(folder: Path, count: int, streams: int) -> tuple[float, int]:
    """Return entries per second, and the most memory of a second poll that is traced."""
    write_log(folder / "1", count, streams)
    speed = count / await timed(Monitor(Folder(folder), [KEY.verifier()], (), State(KEY.name)).poll(0))
    tracemalloc.start()
    await Monitor(Folder(folder), [KEY.verifier()], (), State(KEY.name)).poll(0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return speed, most


async def main(entries: int, appended: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made, read = await against_the_sequencer(Path(folder), appended)
    print(f"sequencer {made:,.0f} entries/s, monitor {read:,.0f} entries/s: {read / made:.1f} times")
    for count, streams in ((entries // 4, 1000), (entries, 1000), (entries, entries // 10)):
        with tempfile.TemporaryDirectory() as folder:
            speed, most = await with_memory(Path(folder), count, streams)
        print(
            f"{count:,} entries of {streams:,} streams: {speed:,.0f} entries/s, {most / 1e6:.1f} MB at most"
        )


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--appended", type=int, default=50_000)
    given = parser.parse_args()
    asyncio.run(main(given.entries, given.appended))
