"""Reads checkpoints from events: the latest, one by its id, or all, with their writes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointTuple,
    DeltaChannelHistory,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from foja.domains.threads.service import Threads
from foja.engine.ledger.reader import BodyRow
from foja.integrations.langgraph.cache import CheckpointCache, CheckpointKey, place_of
from foja.integrations.langgraph.codec import Cell, packed, unpack, unpack_all
from foja.integrations.langgraph.values import StoredValue, load, load_value
from foja.pure.models.threads.events import SAVED, WRITTEN

FIRST_PAGE_EVENTS, PAGE_EVENTS = 128, 1024
Key: TypeAlias = tuple[str, str]
SortKey: TypeAlias = tuple[str, str, int]


class Write(NamedTuple):
    """A task's write to a channel, and its position among the writes of the checkpoint."""

    path: str
    task_id: str
    number: int
    channel: str
    value: Any


class CheckpointReader:
    """Reads the checkpoints of one saver."""

    def __init__(self, threads: Threads, serde: SerializerProtocol, cache: CheckpointCache) -> None:
        self._threads, self._serde, self._cache = threads, serde, cache
        self.stream_of = threads.stream_of

    async def tuple_of(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the latest, and cache where it is stored."""
        place = place_of(config)
        stream, about = self.stream_of(place.thread_id), await self._about(place)
        row = _saved(about)
        if row is None:
            return None
        found, held = await self.read(stream, row, await self._decode_writes(stream, about))
        self._cache.put(place.at(row.payload["checkpoint_id"]), held, row)
        return found

    async def find(self, place: CheckpointKey) -> BodyRow | None:
        """Return the event of a checkpoint, the newest one if it was saved twice."""
        return _saved(await self._about(place))

    async def _about(self, place: CheckpointKey) -> list[BodyRow]:
        """Return the events of a checkpoint, or of the latest."""
        stream = self.stream_of(place.thread_id)
        if place.checkpoint_id is None:
            return await self._threads.latest(stream, place.ns)
        return await self._threads.about(stream, place.ns, place.checkpoint_id)

    async def tuples(
        self,
        config: RunnableConfig | None,
        filters: Mapping[str, Any],
        before: RunnableConfig | None,
        limit: int | None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        place, left = place_of(config) if config else None, limit
        ns = config["configurable"].get("checkpoint_ns") if config else None
        upper = await self._seq_of(before)
        for stream in [self.stream_of(place.thread_id)] if place else await self._threads.streams():
            async for page in self.pages(stream, ns, upper):
                selected = [row for row in page if self._matches(row, place, filters)][:left]
                writes = await self.writes(stream, selected)
                for row in selected:
                    yield (await self.read(stream, row, writes))[0]
                if left is not None and (left := left - len(selected)) <= 0:
                    return

    async def pages(
        self, stream: UUID, ns: str | None, before: int | None = None
    ) -> AsyncIterator[list[BodyRow]]:
        """Yield the checkpoints of a thread in pages, newest first, each one once."""
        seen: set[Key] = set()
        limit = FIRST_PAGE_EVENTS
        while page := await self._threads.checkpoints(stream, ns, before=before, limit=limit):
            yield [row for row in page if key_of(row) not in seen]
            seen.update(map(key_of, page))
            before, limit = page[-1].seq, min(2 * limit, PAGE_EVENTS)

    async def writes(
        self, stream: UUID, saved: Sequence[BodyRow], channels: Collection[str] | None = None
    ) -> dict[Key, list[Write]]:
        """Return the writes of some checkpoints to these channels, in the order of a run."""
        about = await self._threads.writes(stream, [row.seq for row in saved]) if saved else []
        return await self._decode_writes(stream, about, channels)

    async def _decode_writes(
        self, stream: UUID, about: Sequence[BodyRow], channels: Collection[str] | None = None
    ) -> dict[Key, list[Write]]:
        found: dict[Key, dict[SortKey, list[Any]]] = defaultdict(dict)
        for row in about:
            if row.kind == WRITTEN:
                _add(found[key_of(row)], row.payload)
        ordered = [
            (key, at, writes[at][1], writes[at][2])
            for key, writes in found.items()
            for at in sorted(writes)
            if channels is None or writes[at][1] in channels
        ]
        values = await self._values(stream, [(channel, cell) for _, _, channel, cell in ordered])
        result: dict[Key, list[Write]] = defaultdict(list)
        for (key, at, channel, _), value in zip(ordered, values, strict=True):
            result[key].append(Write(*at, channel, value))
        return result

    async def _values(self, stream: UUID, cells: Sequence[tuple[str, Cell]]) -> list[Any]:
        """Return the values of these cells; a large one is in events of its own."""
        spilled = await self._threads.values(stream, [(c, cell["at"]) for c, cell in cells if "at" in cell])
        plain = iter(unpack_all(self._serde, [packed(cell) for _, cell in cells if "at" not in cell]))
        return [
            load_value(self._serde, channel, cell["at"], spilled) if "at" in cell else next(plain)
            for channel, cell in cells
        ]

    async def read(
        self, stream: UUID, row: BodyRow, writes: Mapping[Key, list[Write]]
    ) -> tuple[CheckpointTuple, dict[str, StoredValue]]:
        """Return a complete checkpoint, and where its values are stored."""
        versions = row.payload["checkpoint"].get("channel_versions", {})
        seqs, cells = await self._cells(stream, row)
        loaded = {
            channel: load(self._serde, channel, versions.get(channel), seq, cells)
            for channel, seq in seqs.items()
        }
        values = {channel: value for channel, (value, _) in loaded.items()}
        held = {channel: where for channel, (_, where) in loaded.items()}
        return _tuple(self._serde, row, values, writes.get(key_of(row), [])), held

    async def _cells(
        self, stream: UUID, row: BodyRow, channels: Collection[str] | None = None
    ) -> tuple[dict[str, int], dict[tuple[str, int], Any]]:
        """Return the events that have the values of a checkpoint, and all cells that they are based on."""
        own, held = (
            {c: found for c, found in row.payload[name].items() if channels is None or c in channels}
            for name in ("values", "held")
        )
        beyond = [(c, cell["after"]) for c, cell in own.items() if "after" in cell]
        cells = await self._threads.values(stream, [*held.items(), *beyond])
        seqs = {**dict.fromkeys(own, row.seq), **held}
        return seqs, {**{(c, row.seq): cell for c, cell in own.items()}, **cells}

    async def channel_history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to channels that are stored only at intervals (LangGraph's `DeltaChannel`).

        Walks from a checkpoint to its ancestors until every channel has a complete value.
        """
        place = place_of(config)
        stream = self.stream_of(place.thread_id)
        rows, seeds = await self._until_complete(place, channels)
        writes, *values = await asyncio.gather(
            self.writes(stream, rows, channels),
            *(self._value(stream, rows[depth], channel) for channel, depth in seeds.items()),
        )
        found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
        for depth, row in reversed(list(enumerate(rows))):
            for write in writes.get(key_of(row), []):
                if depth <= seeds.get(write.channel, depth):
                    found[write.channel]["writes"].append((write.task_id, write.channel, write.value))
        for channel, value in zip(seeds, values, strict=True):
            found[channel]["seed"] = value
        return found

    async def _value(self, stream: UUID, row: BodyRow, channel: str) -> Any:
        """Return the value that a checkpoint has of a channel."""
        seqs, cells = await self._cells(stream, row, [channel])
        return load_value(self._serde, channel, seqs[channel], cells)

    async def _until_complete(
        self, place: CheckpointKey, channels: Sequence[str]
    ) -> tuple[list[BodyRow], dict[str, int]]:
        """Return the ancestors of a checkpoint, nearest first, and which of them has each channel's value."""
        rows: list[BodyRow] = []
        seeds: dict[str, int] = {}
        async for row in self._ancestors(place):
            for channel in {*channels} & {*row.payload["values"], *row.payload["held"]}:
                seeds.setdefault(channel, len(rows))
            rows.append(row)
            if len(seeds) == len({*channels}):
                break
        return rows, seeds

    async def _ancestors(self, place: CheckpointKey) -> AsyncIterator[BodyRow]:
        """Yield the ancestors of a checkpoint, nearest first."""
        target = self._cache.row(place) or await self.find(place)
        wanted = target.payload["parent_id"] if target else None
        loaded: dict[Key, BodyRow] = {}
        pages = self.pages(self.stream_of(place.thread_id), place.ns, target.seq if target else None)
        while wanted is not None:
            key = (place.ns, wanted)
            if key not in loaded:
                page = await anext(pages, None)
                if page is None:
                    return
                loaded |= {key_of(row): row for row in page}
                continue
            yield loaded[key]
            wanted = loaded[key].payload["parent_id"]

    async def _seq_of(self, before: RunnableConfig | None) -> int | None:
        if before is None or "checkpoint_id" not in before["configurable"]:
            return None
        row = await self.find(place_of(before))
        return row.seq if row else None

    def _matches(self, row: BodyRow, place: CheckpointKey | None, filters: Mapping[str, Any]) -> bool:
        if place and place.checkpoint_id not in {None, row.payload["checkpoint_id"]}:
            return False
        metadata = _metadata(self._serde, row) if filters else {}
        return all(name in metadata and metadata[name] == value for name, value in filters.items())


def _tuple(
    serde: SerializerProtocol, row: BodyRow, values: dict[str, Any], writes: Sequence[Write]
) -> CheckpointTuple:
    payload = row.payload
    place = CheckpointKey(payload["thread_id"], payload["ns"], payload["checkpoint_id"])
    parent = payload["parent_id"]
    return CheckpointTuple(
        place.config,
        cast(Checkpoint, {**payload["checkpoint"], "id": place.checkpoint_id, "channel_values": values}),
        _metadata(serde, row),
        place.at(parent).config if parent else None,
        [(write.task_id, write.channel, write.value) for write in writes],
    )


def _metadata(serde: SerializerProtocol, row: BodyRow) -> Any:
    """Return the metadata; it is packed only if JSON could not preserve it."""
    payload = row.payload
    cell = payload.get("metadata_cell")
    return unpack(serde, packed(cell)) if cell else payload["metadata"]


def _saved(about: Sequence[BodyRow]) -> BodyRow | None:
    """Return the checkpoint among its events, the newest one if it was saved twice."""
    return next((row for row in reversed(about) if row.kind == SAVED), None)


def key_of(row: BodyRow) -> Key:
    """Return the namespace and id of an event's checkpoint."""
    return row.payload["ns"], row.payload["checkpoint_id"]


def _add(found: dict[SortKey, list[Any]], payload: Mapping[str, Any]) -> None:
    """Add a task's writes. The first write of an index wins, but errors and interrupts are replaced."""
    special = all(channel in WRITES_IDX_MAP for _, channel, _ in payload["writes"])
    for write in payload["writes"]:
        key = writes_sort_key(payload["path"], payload["task_id"], write[0])
        if special or key not in found:
            found[key] = write
