"""The sequencer: give sealed events a gapless order, and sign and publish it as a Merkle tree.

Leaves are durable before tiles, tiles before the row of the checkpoint, and the
row before it is published. So the next run repairs a crash between any two steps.
A checkpoint that contradicts a published one is never signed.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

from foja.engine import sql
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.ledger.live.notifier import Notifier
from foja.errors import LogHalted, ObjectChanged, ObjectMissing, Tampered, Unavailable
from foja.pure.core import tiles
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Signer, open_note, parse_checkpoint

STREAMS, RUN, BATCH = 200, 2_000, 5_000
MAX_STEP_LEAVES = 65_536  # per checkpoint, so that memory does not grow with the backlog
MISSING = "the published checkpoint is missing in the store"
LOOK_SECONDS = 1.0  # how often a halted log looks whether it is there again
HOLE_SECONDS = 5.0  # how long a number from Redis may stay unrecorded
log = logging.getLogger("foja.sequencer")


@dataclass(frozen=True, slots=True)
class OpenLog:
    """The open log."""

    origin: int
    name: str
    size: int
    halted: str | None

    def path(self, name: str) -> str:
        """Return the key of one of this log's files in the store."""
        return f"log/{self.origin}/{name}"


# A log after its checkpoint was read, the tree at that checkpoint, and the version of its file.
Published = tuple[OpenLog, Frontier, str | None]


class Sequencer:
    """Seals, numbers, signs and publishes. Several sequencers may run; they take turns."""

    def __init__(self, database: Database, store: Store, signer: Signer, notifier: Notifier) -> None:
        self._database, self._store, self._signer, self._notifier = database, store, signer, notifier
        self._next_hole_check = self._next_look = 0.0

    async def sweep(self) -> int:
        """Void expired slots and lost numbers, and seal contiguous events. Return the number of changes."""
        done = await self._void_holes()
        late, waiting = await self._database.row(sql.query("sweeps_due")) or (False, False)
        if late:
            done += await self._count("expire_slots", streams=STREAMS)
        if late or waiting:
            done += await self._count("seal_ready", streams=STREAMS, most=RUN)
        return done

    async def _void_holes(self) -> int:
        """Void lost numbers, but not at every sweep: they are rare, and only voided after seconds."""
        if time.monotonic() < self._next_hole_check:
            return 0
        self._next_hole_check = time.monotonic() + HOLE_SECONDS / 5
        return await self._count("void_holes", streams=STREAMS, age=HOLE_SECONDS)

    async def number(self) -> int:
        """Append waiting events to the log. Return how many."""
        placed = await self._count("number_pending", name=self._signer.name, most=BATCH)
        if placed:
            self._notifier.touch(None)
        return placed

    async def check(self) -> None:
        """Halt the log and raise `LogHalted` if it contradicts the published checkpoint."""
        await self._published()

    async def publish(self) -> int:
        """Sign and publish a checkpoint of the log. Return the published size."""
        current, published, version = await self._published()
        size = min(current.size, published.size + MAX_STEP_LEAVES)
        if size > published.size:
            await self._sign(current, await self._write_tiles(current, published, size), version)
        return size

    async def current(self) -> OpenLog:
        """Return the open log."""
        return await self._database.one(sql.query("open_log"), OpenLog, name=self._signer.name)

    async def is_behind(self) -> bool:
        """Return whether the open log has leaves that no published checkpoint covers."""
        current = await self.current()
        published = await self._database.value(sql.query("last_published"), origin=current.origin)
        return current.size > (published or 0)

    async def restart(self) -> OpenLog:
        """Close the log at its last proven size and open one that names the old head."""
        old = await self.current()
        try:
            await self._read_published(old)
            consistent = True
        except Tampered:  # it is halted, or another key signed it, which may be lost
            consistent = False
        values = {"origin": old.origin, "name": self._signer.name, "consistent": consistent}
        return await self._database.one(sql.query("restart_log"), OpenLog, **values)

    async def _published(self) -> Published:
        current = await self.current()
        if current.halted == MISSING and await self._is_back(current):
            log.warning("log %s goes on: its published checkpoint is in the store again", current.name)
            await self._database.row(sql.query("resume_log"), origin=current.origin, reason=MISSING)
            current = await self.current()
        if current.halted:
            raise LogHalted(f"log {current.name} is halted: {current.halted}; see `foja log restart --help`")
        return await self._read_published(current)

    async def _is_back(self, current: OpenLog) -> bool:
        """Return whether a checkpoint that was missing is there again; it is looked for now and then."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + LOOK_SECONDS
        try:
            await self._store.read(current.path("checkpoint"))
        except (ObjectMissing, Unavailable):
            return False
        return True

    async def _read_published(self, current: OpenLog) -> Published:
        known = await self._database.value(sql.query("last_published"), origin=current.origin)
        try:
            stored = await self._store.read(current.path("checkpoint"))
        except ObjectMissing:
            if known is not None:
                await self._halt(current, MISSING)
            return current, Frontier(), None
        seen = parse_checkpoint(open_note(stored.data, [self._signer.verifier()]))
        # Read again: another sequencer may have numbered and published in between.
        later = await self.current()
        size = later.size if later.origin == current.origin else seen.size
        current = replace(current, size=max(size, current.size))
        if seen.size > current.size:
            await self._halt(current, f"{seen.size} leaves were published, but only {current.size} exist")
        frontier = await self._frontier(current, seen.size)
        if frontier.root() != seen.root or seen.origin != current.name:
            await self._halt(current, f"the published checkpoint of {seen.size} leaves has another root")
        await self._database.row(sql.query("mark_published"), origin=current.origin, size=seen.size)
        return current, frontier, stored.version

    async def _frontier(self, current: OpenLog, size: int) -> Frontier:
        """Return the tree at a size, from the nearest checkpoint and the leaves after it."""
        found = await self._database.value(sql.query("last_frontier"), origin=current.origin, size=size)
        frontier = Frontier.decode(found) if found is not None else Frontier()
        while frontier.size < size:
            high = min(size, frontier.size + BATCH)
            frontier = frontier.extend(map(leaf_hash, await self._entries(current, frontier.size, high)))
        return frontier

    async def _entries(self, current: OpenLog, low: int, high: int) -> list[bytes]:
        rows = await self._database.rows(sql.query("leaves"), origin=current.origin, low=low, high=high)
        if len(rows) != high - low:
            await self._halt(current, f"only {len(rows)} of the leaves {low} to {high - 1} exist")
        return [leaf_entry(*row) for row in rows]

    async def _write_tiles(self, current: OpenLog, old: Frontier, size: int) -> Frontier:
        start = old.size - old.size % tiles.WIDTH
        entries = await self._entries(current, start, size)
        leaves = [leaf_hash(entry) for entry in entries[old.size - start :]]
        edges = {
            tile: (await self._store.read(current.path(tile.path))).data
            for tile in tiles.edge_tiles(old.size)
        }
        for at in range(0, len(entries), tiles.WIDTH):
            part = entries[at : at + tiles.WIDTH]
            path = tiles.entries_path((start + at) // tiles.WIDTH, len(part))
            await self._store.write(current.path(path), tiles.encode_entries(part))
        for tile, data in tiles.grow(old.size, leaves, edges).items():
            await self._store.write(current.path(tile.path), data)
        return old.extend(leaves)

    async def _sign(self, current: OpenLog, frontier: Frontier, version: str | None) -> None:
        note = self._signer.sign(Checkpoint(current.name, frontier.size, frontier.root()).text())
        await self._database.row(
            sql.query("record_checkpoint"),
            origin=current.origin,
            size=frontier.size,
            root=frontier.root(),
            frontier=frontier.encode(),
            note=note,
        )
        try:
            await self._store.replace(current.path("checkpoint"), note.encode(), version)
        except ObjectChanged:
            log.info("another sequencer published first")
            return
        await self._database.row(sql.query("mark_published"), origin=current.origin, size=frontier.size)

    async def _halt(self, current: OpenLog, reason: str) -> None:
        log.error("log %s halted: %s", current.name, reason)
        await self._database.row(sql.query("halt_log"), origin=current.origin, reason=reason)
        raise LogHalted(f"log {current.name} is halted: {reason}; see `foja log restart --help`")

    async def _count(self, name: str, /, **values: object) -> int:
        return int(await self._database.value(sql.query(name), **values))
