"""Reads checkpoints from events: the latest, one by its id, or all, with their writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, Checkpoint, CheckpointTuple, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from foja.integrations.langgraph.cache import CheckpointCache, CheckpointKey, place_of
from foja.integrations.langgraph.codec import packed, unpack
from foja.integrations.langgraph.values import StoredValue, load
from foja.ledger.reader import BodyRow
from foja.threads.model.events import SAVED, WRITTEN
from foja.threads.service import Threads

PAGE_EVENTS = 256
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
        stream, row = self.stream_of(place.thread_id), await self.find(place)
        if row is None:
            return None
        writes = await self.writes(stream, [row])
        found, held = await self.read(stream, row, writes)
        self._cache.put(place.at(row.payload["checkpoint_id"]), held)
        return found

    async def find(self, place: CheckpointKey) -> BodyRow | None:
        """Return the event of a checkpoint, the newest one if it was saved twice."""
        stream = self.stream_of(place.thread_id)
        if place.checkpoint_id is None:
            latest = await self._threads.checkpoints(stream, place.ns, limit=1)
            return latest[0] if latest else None
        about = await self._threads.about(stream, [(place.ns, place.checkpoint_id)])
        saved = [row for row in about if row.kind == SAVED]
        return saved[-1] if saved else None

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
        while page := await self._threads.checkpoints(stream, ns, before=before, limit=PAGE_EVENTS):
            yield [row for row in page if key_of(row) not in seen]
            seen.update(map(key_of, page))
            before = page[-1].seq

    async def writes(self, stream: UUID, saved: Sequence[BodyRow]) -> dict[Key, list[Write]]:
        """Return the pending writes of some checkpoints, in the order in which a run applies them."""
        about = await self._threads.about(stream, [key_of(row) for row in saved]) if saved else []
        found: dict[Key, dict[SortKey, list[Any]]] = defaultdict(dict)
        for row in about:
            if row.kind == WRITTEN:
                _add(found[key_of(row)], row.payload)
        cells = [(each[1], each[2]) for writes in found.values() for each in writes.values()]
        spilled = await self._threads.values(stream, [(c, cell["at"]) for c, cell in cells if "at" in cell])
        return {
            key: [Write(*at, writes[at][1], self._value(writes[at], spilled)) for at in sorted(writes)]
            for key, writes in found.items()
        }

    async def read(
        self, stream: UUID, row: BodyRow, writes: Mapping[Key, list[Write]]
    ) -> tuple[CheckpointTuple, dict[str, StoredValue]]:
        """Return a complete checkpoint, and where its values are stored."""
        payload = row.payload
        versions = payload["checkpoint"].get("channel_versions", {})
        seqs = {**dict.fromkeys(payload["values"], row.seq), **payload["held"]}
        cells = {(channel, row.seq): cell for channel, cell in payload["values"].items()}
        beyond = [(c, cell["after"]) for (c, _), cell in cells.items() if "after" in cell]
        cells |= await self._threads.values(stream, [*payload["held"].items(), *beyond])
        loaded = {
            channel: load(self._serde, channel, versions.get(channel), seq, cells)
            for channel, seq in seqs.items()
        }
        values = {channel: value for channel, (value, _) in loaded.items()}
        held = {channel: where for channel, (_, where) in loaded.items()}
        return _tuple(self._serde, row, values, writes.get(key_of(row), [])), held

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

    def _value(self, write: Sequence[Any], spilled: Mapping[Any, Any]) -> Any:
        _, channel, cell = write
        if "at" in cell:
            return load(self._serde, channel, None, cell["at"], spilled)[0]
        return unpack(self._serde, packed(cell))


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
