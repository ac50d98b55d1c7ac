"""Read the log: the events of all streams in one order, and the proof of inclusion of an event."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

from foja import sql
from foja.blobs.store import Store
from foja.core import tiles
from foja.core.chain import leaf_entry
from foja.core.proof import Proof
from foja.driver.database import Database
from foja.errors import CursorLost, NotCovered, Unavailable
from foja.ledger.event import Event, Reset
from foja.ledger.live.notifier import Notifier

ORIGIN, IDX = re.compile("[0-9]{1,9}"), re.compile("-1|[0-9]{1,18}")
PAGE_LEAVES = 500
POLL_SECONDS = 1.0


@dataclass(slots=True)
class LogPosition:
    """The position of a reader of the whole log."""

    epoch: str
    origin: int = 1
    idx: int = -1

    @property
    def cursor(self) -> str:
        """The position as text, to continue from."""
        return f"{self.epoch}:{self.origin}:{self.idx}"


@dataclass(frozen=True, slots=True)
class ProvenEvent:
    """An entry of the log and its proof of inclusion."""

    entry: bytes
    proof: Proof


class Log:
    """Reads the log of the installation."""

    def __init__(self, database: Database, store: Store, notifier: Notifier) -> None:
        self._database, self._store, self._notifier = database, store, notifier

    async def prove(self, entity_id: UUID, seq: int, *, first: bool = False) -> ProvenEvent:
        """Return the proof that an event is in the log, against the newest published checkpoint.

        With `first`, use the first checkpoint that covers it: then the proof is always the same.
        """
        leaf = await self._database.row(sql.query("find_leaf"), entity=entity_id, seq=seq)
        if leaf is None:
            raise NotCovered(f"event {seq} of {entity_id} is not in the log yet; run `foja worker`")
        origin, _, idx, chain_hash = leaf
        query = "first_checkpoint" if first else "published_checkpoint"
        row = await self._database.row(sql.query(query), origin=origin, idx=idx)
        if row is None:
            raise NotCovered(f"no published checkpoint covers leaf {idx} yet; run `foja worker`")
        size, note = row
        needed = {tile: await self._tile(origin, tile) for tile in tiles.inclusion_tiles(idx, size)}
        path = tiles.prove_inclusion(idx, size, needed)
        return ProvenEvent(leaf_entry(entity_id, seq, chain_hash), Proof(idx, tuple(path), note))

    async def events(self, after: str | None, limit: int) -> list[Event]:
        """Return up to `limit` events of all streams in the order of the log."""
        position = await self.start(after)
        if isinstance(position, Reset):
            raise CursorLost(f"the cursor {after!r} belongs to another history; read again with after=None")
        return await self._advance(position, limit)

    async def follow(self, after: str | None) -> AsyncIterator[Event | Reset]:
        """Yield every event of all streams in the order of the log, for ever."""
        position: LogPosition | None = None
        with self._notifier.watch(None) as subscription:
            while True:
                subscription.clear()
                try:
                    started = position or await self.start(after)
                    if isinstance(started, Reset):
                        yield started
                        after = None
                        continue
                    position = started
                    events = await self._advance(started, PAGE_LEAVES)
                    if not events and isinstance(await self.start(started.cursor), Reset):
                        position, after = None, started.cursor
                        continue
                except Unavailable:
                    await asyncio.sleep(0.2)
                    continue
                for event in events:
                    yield event
                if not events:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await subscription.wait()

    async def start(self, after: str | None) -> LogPosition | Reset:
        """Return the position of a cursor, or a reset if it is not valid here."""
        epoch, origin, idx = _parse(after)
        row = await self._database.row(sql.query("log_state"), origin=origin)
        assert row is not None
        if epoch is None:
            return LogPosition(row[0])
        if epoch != row[0]:
            return Reset("epoch")
        size = row[1]
        if size is None and idx >= 0:
            return Reset("origin")
        if idx >= (size or 0):
            return Reset("future")
        return LogPosition(epoch, origin, idx)

    async def _advance(self, position: LogPosition, limit: int) -> list[Event]:
        row = await self._database.row(sql.query("log_state"), origin=position.origin)
        assert row is not None
        epoch, size, closed = row
        if size is None or epoch != position.epoch:
            return []
        if closed and position.idx + 1 >= size:
            position.origin, position.idx = position.origin + 1, -1
            return await self._advance(position, limit)
        rows = await self._database.rows(
            sql.query("read_log"), origin=position.origin, after=position.idx, size=size, limit=limit
        )
        events = []
        for idx, entity_id, seq, event_id, kind, v, at, actor, source, payload, body_hash in rows:
            position.idx = idx
            events.append(
                Event(
                    entity_id, seq, event_id, kind, v, at, actor, source, payload, body_hash, position.cursor
                )
            )
        return events

    async def _tile(self, origin: int, tile: tiles.Tile) -> bytes:
        return (await self._store.read(f"log/{origin}/{tile.path}")).data


def _parse(after: str | None) -> tuple[str | None, int, int]:
    if after is None:
        return None, 1, -1
    epoch, _, position = after.partition(":")
    origin, _, idx = position.partition(":")
    if not ORIGIN.fullmatch(origin) or not IDX.fullmatch(idx):
        raise CursorLost(f"not a valid cursor of the log: {after!r}; use the .cursor of an event, or None")
    return epoch, int(origin), int(idx)
