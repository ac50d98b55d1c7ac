"""Read the log: the events of all streams in one order, and the proof of inclusion of an event."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from foja.engine import sql
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.ledger.cosigners.configuration import Quorum
from foja.engine.ledger.event import Event, Reset, event_of
from foja.engine.ledger.live.notifier import Notifier
from foja.errors import CursorLost, NotCovered, Unavailable
from foja.pure.core import tiles
from foja.pure.core.merkle import inclusion_proof
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.core.proof import Proof

ORIGIN, IDX = re.compile("[0-9]{1,9}"), re.compile("-1|[0-9]{1,18}")
PAGE_LEAVES = 500
POLL_SECONDS = 1.0


class Covered(NamedTuple):
    """A leaf of an event that is asked about, and a checkpoint that covers it."""

    place: int  # of the event in the question, from 1
    origin: int
    idx: int
    size: int
    note: str

    @property
    def checkpoint(self) -> tuple[int, int]:
        """What names the checkpoint: its log and its size."""
        return self.origin, self.size


class Signed(NamedTuple):
    """A checkpoint as it was signed."""

    size: int
    note: str


class FirstCosigned(NamedTuple):
    """The first checkpoint over a leaf that enough cosigners signed."""

    place: int
    size: int
    note: str


class LeafPlace(NamedTuple):
    """The leaf of an event."""

    origin: int
    idx: int


class NewestNote(NamedTuple):
    """The newest published checkpoint of the open log."""

    note: str
    origin: int
    size: int


class StoredLog(NamedTuple):
    """The epoch of the installation, and a log of it."""

    epoch: str
    size: int | None  # None: there is no such log
    closed: bool


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


class Log:
    """Reads the log of the installation."""

    def __init__(
        self, database: Database, store: Store, notifier: Notifier, quorum: Quorum | None = None
    ) -> None:
        """`quorum` are the cosigners that must have signed the checkpoint of a proof, if there is one."""
        self._database, self._store, self._notifier = database, store, notifier
        self._quorum = quorum

    async def prove(self, entity_id: UUID, seq: int) -> Proof:
        """Return the proof that an event is in the log, against the newest published checkpoint.

        A checkpoint that enough cosigners signed is preferred. Its cosignatures are part of the proof.
        """
        leaf = await self._database.row(sql.query("find_leaf"), LeafPlace, entity=entity_id, seq=seq)
        if leaf is None:
            raise NotCovered(f"event {seq} of {entity_id} is not in the log yet; run `foja worker`")
        origin, idx = leaf.origin, leaf.idx
        signed = await self._cosigned(origin, idx) or await self._database.row(
            sql.query("published_checkpoint"), Signed, origin=origin, idx=idx
        )
        if signed is None:
            raise NotCovered(f"no published checkpoint covers leaf {idx} yet; run `foja worker`")
        files = await self._read_tiles(origin, tiles.inclusion_tiles(idx, signed.size))
        path = tiles.prove_inclusion(idx, signed.size, files)
        return Proof(idx, tuple(path), signed.note + await self._cosignatures(origin, signed.size))

    async def prove_first(
        self, events: Sequence[tuple[UUID, int]], *, patient: bool = False
    ) -> list[Proof | None]:
        """Return the proof of each event against the first checkpoint that covers it, or None if none does.

        The first one that enough cosigners signed is preferred; with `patient`, return None while they may
        still sign one. Without cosigners this proof is always the same. Tiles and hashes that several proofs
        share are read and computed once.
        """
        ids, seqs = [each[0] for each in events], [each[1] for each in events]
        rows = await self._database.rows(sql.query("first_checkpoints"), Covered, entities=ids, seqs=seqs)
        rows = await self._prefer_cosigned(rows, patient=patient)
        proofs: list[Proof | None] = [None] * len(events)
        for origin, size in {row.checkpoint for row in rows}:
            covered = [row for row in rows if row.checkpoint == (origin, size)]
            needed = {tile for row in covered for tile in tiles.inclusion_tiles(row.idx, size)}
            hash_at = tiles.hash_reader(size, await self._read_tiles(origin, needed))
            lines = await self._cosignatures(origin, size)
            for row in covered:
                path = tuple(inclusion_proof(row.idx, size, hash_at))
                proofs[row.place - 1] = Proof(row.idx, path, row.note + lines)
        return proofs

    async def prove_growth(self, origin: int, old: int, new: int) -> list[bytes]:
        """Return the proof that the tree of `old` leaves is the beginning of the one of `new` leaves."""
        files = await self._read_tiles(origin, tiles.consistency_tiles(old, new))
        return tiles.prove_consistency(old, new, files)

    async def checkpoint(self) -> str:
        """Return the newest published checkpoint with its cosignatures, or raise `NotCovered`."""
        newest = await self._database.row(sql.query("newest_note"), NewestNote)
        if newest is None:
            raise NotCovered("no checkpoint is published yet; run `foja worker`")
        return newest.note + await self._cosignatures(newest.origin, newest.size)

    async def checkpoint_of(self, origin: int) -> str:
        """Return the published checkpoint of one log with its cosignatures, or raise `ObjectMissing`."""
        note = (await self._store.read(f"log/{origin}/checkpoint")).data.decode()
        return note + await self._cosignatures(origin, parse_checkpoint(split_note(note)[0]).size)

    async def tile(self, origin: int, path: str) -> bytes:
        """Return a file of the log by its path below `tile/`, or raise `ObjectMissing`."""
        return (await self._store.read(f"log/{origin}/tile/{path}")).data

    async def events(self, after: str | int | None, limit: int) -> list[Event]:
        """Return up to `limit` events of all streams in the order of the log, also across restarts."""
        position = await self.start(after)
        if isinstance(position, Reset):
            raise CursorLost(f"the cursor {after!r} belongs to another history; read again with after=None")
        events: list[Event] = []
        while len(events) < limit and (page := await self._advance(position, limit - len(events))):
            events += page
        return events

    async def follow(self, after: str | int | None) -> AsyncIterator[Event | Reset]:
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
                    await subscription.wait(POLL_SECONDS)

    async def start(self, after: str | int | None) -> LogPosition | Reset:
        """Return the position of a cursor or a number, or a reset if it is not valid here."""
        if isinstance(after, int):
            return await self._find_place(after)
        epoch, origin, idx = _parse(after)
        stored = await self._stored(origin)
        if epoch is None:
            return LogPosition(stored.epoch)
        if epoch != stored.epoch:
            return Reset("epoch")
        if stored.size is None and idx >= 0:
            return Reset("origin")
        if idx >= (stored.size or 0):
            return Reset("future")
        return LogPosition(epoch, origin, idx)

    async def _find_place(self, number: int) -> LogPosition | Reset:
        """Return the position of the event with this number: from 0, over all logs in their order."""
        origin = 1
        while True:
            stored = await self._stored(origin)
            size = stored.size or 0
            if number < size:
                return LogPosition(stored.epoch, origin, max(number, -1))
            if not stored.closed:
                return Reset("future")
            origin, number = origin + 1, number - size

    async def _advance(self, position: LogPosition, limit: int) -> list[Event]:
        stored = await self._stored(position.origin)
        size = stored.size
        if size is None or stored.epoch != position.epoch:
            return []
        if stored.closed and position.idx + 1 >= size:
            position.origin, position.idx = position.origin + 1, -1
            return await self._advance(position, limit)
        rows = await self._database.rows(
            sql.query("read_log"), origin=position.origin, after=position.idx, size=size, limit=limit
        )
        events = []
        for idx, entity_id, *event in rows:
            position.idx = idx
            events.append(event_of(entity_id, *event, position.cursor))
        return events

    async def _stored(self, origin: int) -> StoredLog:
        return await self._database.one(sql.query("log_state"), StoredLog, origin=origin)

    async def _cosignatures(self, origin: int, size: int) -> str:
        """Return the lines that cosigners added to a checkpoint."""
        return str(await self._database.value(sql.query("cosignatures"), origin=origin, size=size))

    async def _cosigned(self, origin: int, idx: int) -> Signed | None:
        """Return the newest checkpoint over a leaf that enough cosigners signed, or None."""
        if self._quorum is None:
            return None
        keys, required = list(self._quorum.keys), self._quorum.required
        values = {"origin": origin, "idx": idx, "keys": keys, "required": required}
        return await self._database.row(sql.query("cosigned_checkpoint"), Signed, **values)

    async def _prefer_cosigned(self, rows: list[Covered], *, patient: bool) -> list[Covered]:
        """Return the rows with the first checkpoint that enough cosigners signed, where there is one.

        With `patient`, leave out those whose checkpoint may still be signed.
        """
        if self._quorum is None or not rows:
            return rows
        found = await self._database.rows(
            sql.query("first_cosigned"),
            FirstCosigned,
            origins=[row.origin for row in rows],
            leaves=[row.idx for row in rows],
            keys=list(self._quorum.keys),
            required=self._quorum.required,
        )
        cosigned = {each.place: each for each in found}
        unsigned = {row.checkpoint for at, row in enumerate(rows, 1) if at not in cosigned}
        pending = {each for each in unsigned if patient and await self._is_being_cosigned(*each)}
        better = [cosigned.get(at, row) for at, row in enumerate(rows, 1)]
        chosen = [
            row._replace(size=each.size, note=each.note) for row, each in zip(rows, better, strict=True)
        ]
        return [row for row in chosen if row.checkpoint not in pending]

    async def _is_being_cosigned(self, origin: int, size: int) -> bool:
        """Return whether a checkpoint is so new that enough cosigners may still sign it."""
        assert self._quorum
        quorum = {"keys": list(self._quorum.keys), "required": self._quorum.required}
        values = {"origin": origin, "size": size, "seconds": self._quorum.patience_seconds, **quorum}
        return bool(await self._database.value(sql.query("is_being_cosigned"), **values))

    async def _read_tiles(self, origin: int, needed: Iterable[tiles.Tile]) -> dict[tiles.Tile, bytes]:
        return {tile: (await self._store.read(f"log/{origin}/{tile.path}")).data for tile in needed}


def _parse(after: str | None) -> tuple[str | None, int, int]:
    if after is None:
        return None, 1, -1
    epoch, _, position = after.partition(":")
    origin, _, idx = position.partition(":")
    if not ORIGIN.fullmatch(origin) or not IDX.fullmatch(idx):
        raise CursorLost(f"not a valid cursor of the log: {after!r}; use the .cursor of an event, or None")
    return epoch, int(origin), int(idx)
