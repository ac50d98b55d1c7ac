"""Checkpoints out of events: the latest, one by its id, or all of them, with their writes."""

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
from foja.integrations.langgraph.values import Held, load
from foja.ledger.reader import BodyRow
from foja.threads.model.events import SAVED, WRITTEN
from foja.threads.service import Threads

PAGE_EVENTS = 256
Key: TypeAlias = tuple[str, str]
SortKey: TypeAlias = tuple[str, str, int]


class Write(NamedTuple):
    """What a task wrote to a channel, and its place among the writes of its checkpoint."""

    path: str
    task_id: str
    number: int
    channel: str
    value: Any


class CheckpointReader:
    """Reads the threads of one saver."""

    def __init__(self, threads: Threads, serde: SerializerProtocol, seen: CheckpointCache) -> None:
        self._threads, self._serde, self._seen = threads, serde, seen
        self.stream_of = threads.stream_of

    async def tuple_of(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint a config names, or the latest, and remember where it is held."""
        place = place_of(config)
        stream, said = self._threads.stream_of(place.thread_id), await self.find(place)
        if said is None:
            return None
        writes = await self.writes(stream, [said])
        found, held = await self.read(stream, said, writes)
        self._seen.keep(place.at(said.payload["checkpoint_id"]), held)
        return found

    async def find(self, place: CheckpointKey) -> BodyRow | None:
        """Return the event of a checkpoint, the newest if it was saved twice."""
        stream = self._threads.stream_of(place.thread_id)
        if place.checkpoint_id is None:
            latest = await self._threads.checkpoints(stream, place.ns, limit=1)
            return latest[0] if latest else None
        about = await self._threads.about(stream, [(place.ns, place.checkpoint_id)])
        saved = [said for said in about if said.kind == SAVED]
        return saved[-1] if saved else None

    async def tuples(
        self,
        config: RunnableConfig | None,
        wanted: Mapping[str, Any],
        before: RunnableConfig | None,
        limit: int | None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        place, left = place_of(config) if config else None, limit
        ns = config["configurable"].get("checkpoint_ns") if config else None
        upper = await self._number_of(before)
        for stream in [self._threads.stream_of(place.thread_id)] if place else await self._threads.streams():
            async for page in self.pages(stream, ns, upper):
                chosen = [said for said in page if self._fits(said, place, wanted)][:left]
                writes = await self.writes(stream, chosen)
                for said in chosen:
                    yield (await self.read(stream, said, writes))[0]
                if left is not None and (left := left - len(chosen)) <= 0:
                    return

    async def pages(
        self, stream: UUID, ns: str | None, before: int | None = None
    ) -> AsyncIterator[list[BodyRow]]:
        """Yield the checkpoints of a thread, newest first, a page at a time, each only once."""
        seen: set[Key] = set()
        while page := await self._threads.checkpoints(stream, ns, before=before, limit=PAGE_EVENTS):
            yield [said for said in page if key_of(said) not in seen]
            seen.update(map(key_of, page))
            before = page[-1].seq

    async def writes(self, stream: UUID, saved: Sequence[BodyRow]) -> dict[Key, list[Write]]:
        """Return the pending writes of some checkpoints, in the order live execution applies them."""
        about = await self._threads.about(stream, [key_of(said) for said in saved]) if saved else []
        found: dict[Key, dict[SortKey, list[Any]]] = defaultdict(dict)
        for said in about:
            if said.kind == WRITTEN:
                _add(found[key_of(said)], said.payload)
        cells = [(each[1], each[2]) for writes in found.values() for each in writes.values()]
        spilled = await self._threads.values(stream, [(c, cell["at"]) for c, cell in cells if "at" in cell])
        return {
            key: [Write(*at, writes[at][1], self._value(writes[at], spilled)) for at in sorted(writes)]
            for key, writes in found.items()
        }

    async def read(
        self, stream: UUID, said: BodyRow, writes: Mapping[Key, list[Write]]
    ) -> tuple[CheckpointTuple, dict[str, Held]]:
        """Return a checkpoint whole, and where its values are held."""
        payload = said.payload
        versions = payload["checkpoint"].get("channel_versions", {})
        seqs = {**dict.fromkeys(payload["values"], said.seq), **payload["held"]}
        cells = {(channel, said.seq): cell for channel, cell in payload["values"].items()}
        beyond = [(c, cell["after"]) for (c, _), cell in cells.items() if "after" in cell]
        cells |= await self._threads.values(stream, [*payload["held"].items(), *beyond])
        loaded = {
            channel: load(self._serde, channel, versions.get(channel), seq, cells)
            for channel, seq in seqs.items()
        }
        values = {channel: value for channel, (value, _) in loaded.items()}
        held = {channel: where for channel, (_, where) in loaded.items()}
        return _tuple(self._serde, said, values, writes.get(key_of(said), [])), held

    async def _number_of(self, before: RunnableConfig | None) -> int | None:
        if before is None or "checkpoint_id" not in before["configurable"]:
            return None
        said = await self.find(place_of(before))
        return said.seq if said else None

    def _fits(self, said: BodyRow, place: CheckpointKey | None, wanted: Mapping[str, Any]) -> bool:
        if place and place.checkpoint_id not in {None, said.payload["checkpoint_id"]}:
            return False
        metadata = _metadata(self._serde, said) if wanted else {}
        return all(name in metadata and metadata[name] == value for name, value in wanted.items())

    def _value(self, write: Sequence[Any], spilled: Mapping[Any, Any]) -> Any:
        _, channel, cell = write
        if "at" in cell:
            return load(self._serde, channel, None, cell["at"], spilled)[0]
        return unpack(self._serde, packed(cell))


def _tuple(
    serde: SerializerProtocol, said: BodyRow, values: dict[str, Any], writes: Sequence[Write]
) -> CheckpointTuple:
    payload = said.payload
    place = CheckpointKey(payload["thread_id"], payload["ns"], payload["checkpoint_id"])
    parent = payload["parent_id"]
    return CheckpointTuple(
        place.config,
        cast(Checkpoint, {**payload["checkpoint"], "id": place.checkpoint_id, "channel_values": values}),
        _metadata(serde, said),
        place.at(parent).config if parent else None,
        [(write.task_id, write.channel, write.value) for write in writes],
    )


def _metadata(serde: SerializerProtocol, said: BodyRow) -> Any:
    """Return metadata, which is plain in its event unless JSON could not keep it."""
    payload = said.payload
    cell = payload.get("metadata_cell")
    return unpack(serde, packed(cell)) if cell else payload["metadata"]


def key_of(said: BodyRow) -> Key:
    """Return the namespace and id of the checkpoint an event is about."""
    return said.payload["ns"], said.payload["checkpoint_id"]


def _add(found: dict[SortKey, list[Any]], payload: Mapping[str, Any]) -> None:
    """Take a task's writes in: the first of an index stays, but errors and interrupts are replaced."""
    special = all(channel in WRITES_IDX_MAP for _, channel, _ in payload["writes"])
    for write in payload["writes"]:
        key = writes_sort_key(payload["path"], payload["task_id"], write[0])
        if special or key not in found:
            found[key] = write
