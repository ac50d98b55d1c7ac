"""Writes checkpoints as events: put, put writes, copy, delete, prune."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from foja.domains.threads.service import CheckpointBody, Threads
from foja.engine.ledger.reader import BodyRow
from foja.errors import IdempotencyConflict
from foja.integrations.langgraph.cache import Channels, CheckpointCache, CheckpointKey, place_of
from foja.integrations.langgraph.codec import JSON, Cell, pack
from foja.integrations.langgraph.reader import CheckpointReader, Key, key_of
from foja.integrations.langgraph.values import MAX_VALUE_BYTES, PendingValue, spill_bytes, store
from foja.pure.core.event import lp, utf8
from foja.pure.models.threads.events import SAVED, VALUES, WRITTEN, event_id


@dataclass(frozen=True, slots=True)
class Target:
    """The thread and checkpoint to which events are appended."""

    threads: Threads
    stream: UUID
    ns: str
    checkpoint_id: str

    async def save(self, kind: str, payload: Mapping[str, Any], rest: bytes | None = None) -> int | None:
        """Append one event; return its number, or None if it was appended before and erased."""
        about = {"ns": self.ns, "checkpoint_id": self.checkpoint_id, **payload}
        name = event_id(self.ns, self.checkpoint_id, rest or os.urandom(16))
        event = await self.threads.save(self.stream, kind, about, name)
        return None if event.payload is None else event.seq

    async def spill(self, channel: str, cell: Cell) -> int:
        """Append a value in an event of its own."""
        seq = await self.save(VALUES, {"values": {channel: cell}})
        assert seq is not None
        return seq


class CheckpointWriter:
    """Writes the checkpoints of one saver."""

    def __init__(self, threads: Threads, serde: SerializerProtocol, cache: CheckpointCache) -> None:
        self._threads, self._serde, self._cache = threads, serde, cache
        self._reader = CheckpointReader(threads, serde, cache)

    async def put(
        self,
        config: RunnableConfig,
        checkpoint: Mapping[str, Any],
        metadata: Any,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint: its new values, and where the others are stored."""
        parent = place_of(config)
        place = parent.at(checkpoint["id"])
        base = await self._stored_values(parent)
        merged = get_serializable_checkpoint_metadata(config, metadata)
        await self._save(place, parent.checkpoint_id, checkpoint, merged, base, set(new_versions))
        return place.config

    async def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        path: str,
    ) -> None:
        """Save a task's writes. The first write of an index wins."""
        target = self._target(place_of(config))
        cells = [
            [WRITES_IDX_MAP.get(channel, n), channel, await self._cell(channel, value, target)]
            for n, (channel, value) in enumerate(writes)
        ]
        payload = {"task_id": task_id, "path": path, "writes": cells}
        if all(channel in WRITES_IDX_MAP for channel, _ in writes):
            await target.save(WRITTEN, payload)
            return
        numbers = ",".join(str(number) for number, *_ in cells)
        try:
            if await target.save(WRITTEN, payload, lp(utf8(task_id), utf8(numbers))) is None:
                await target.save(WRITTEN, payload)
        except IdempotencyConflict:
            await self._threads.await_standbys()

    async def copy(self, source: str, to: str) -> None:
        """Copy all checkpoints of one thread to another."""
        stream = self._threads.stream_of(source)
        saved = [row async for page in self._reader.pages(stream, None) for row in page]
        await self._resave(stream, saved, to)

    async def delete(self, stream: UUID, reason: str) -> None:
        """Erase the events of a thread."""
        self._cache.clear()
        bodies = await self._threads.bodies(stream)
        await self._threads.erase(stream, [body.seq for body in bodies], reason=reason)

    async def delete_runs(self, stream: UUID, runs: frozenset[str]) -> None:
        """Erase the checkpoints of some runs. The others are saved again first: they may refer to these."""
        bodies = await self._threads.bodies(stream)
        saved = {(body.ns, body.checkpoint_id) for body in bodies if body.kind == SAVED}
        gone = {(body.ns, body.checkpoint_id) for body in bodies if body.run_id in runs}
        if gone:
            await self._keep(stream, bodies, saved - gone, reason="delete_for_runs")

    async def keep_latest(self, thread_id: str) -> None:
        """Erase all but the latest checkpoint of each namespace. No run of the thread may be active."""
        stream = self._threads.stream_of(thread_id)
        bodies = await self._threads.bodies(stream)
        latest = {body.ns: body.checkpoint_id for body in bodies if body.kind == SAVED}
        await self._keep(stream, bodies, set(latest.items()), reason="prune")

    async def _keep(
        self,
        stream: UUID,
        bodies: Sequence[CheckpointBody],
        kept: set[Key],
        *,
        reason: str,
    ) -> None:
        """Save the checkpoints to keep again, then erase all earlier events."""
        self._cache.clear()
        pages = self._reader.pages(stream, None)
        saved = [row async for page in pages for row in page if key_of(row) in kept]
        if saved:
            await self._resave(stream, saved, saved[0].payload["thread_id"])
        await self._threads.erase(stream, [body.seq for body in bodies], reason=reason)

    async def _resave(
        self,
        stream: UUID,
        saved: Sequence[BodyRow],
        to: str,
    ) -> None:
        """Save checkpoints, given newest first, again: oldest first, each based on the previous one."""
        bases: dict[str, Channels] = {}
        for row in reversed(saved):
            ns, checkpoint_id = key_of(row)
            found, _ = await self._reader.read(stream, row, {})
            if counters := found.metadata.get("counters_since_delta_snapshot"):
                raise NotImplementedError(f"a DeltaChannel cannot be copied or pruned ({counters})")
            place, checkpoint = CheckpointKey(to, ns, checkpoint_id), dict(found.checkpoint)
            target = self._target(place)
            bases[ns] = await self._save(
                place, row.payload["parent_id"], checkpoint, found.metadata, bases.get(ns, {}), None
            )
            for write in (await self._reader.writes(stream, [row])).get((ns, checkpoint_id), []):
                cell = await self._cell(write.channel, write.value, target)
                task = {"task_id": write.task_id, "path": write.path}
                await target.save(WRITTEN, {**task, "writes": [[write.number, write.channel, cell]]})

    async def _stored_values(self, parent: CheckpointKey) -> Channels:
        """Return where the values of a checkpoint are stored."""
        if parent.checkpoint_id is None:
            return {}
        held = self._cache.find(parent)
        if held is None:
            stream, row = self._threads.stream_of(parent.thread_id), await self._reader.find(parent)
            held = (await self._reader.read(stream, row, {}))[1] if row else {}
        return held

    async def _save(
        self,
        place: CheckpointKey,
        parent_id: str | None,
        checkpoint: Mapping[str, Any],
        metadata: Any,
        base: Channels,
        changed: set[str] | None,
    ) -> Channels:
        """Append one checkpoint; `changed` names its changed channels, None means that any may be."""
        target, versions = self._target(place), checkpoint["channel_versions"]
        held: Channels = {}
        stored: dict[str, PendingValue] = {}
        space = MAX_VALUE_BYTES
        for channel, value in checkpoint["channel_values"].items():
            known, same = base.get(channel), changed is not None and channel not in changed
            if same and known and known.version == versions.get(channel):
                held[channel] = known
                continue
            stored[channel] = await store(self._serde, value, known, space, partial(target.spill, channel))
            space -= stored[channel].size
        payload = self._payload(place, parent_id, checkpoint, metadata)
        payload["values"] = {c: each.cell for c, each in stored.items() if each.cell is not None}
        before = {c: each.seq for c, each in stored.items() if each.seq is not None}
        payload["held"] = {**{c: each.seq for c, each in held.items()}, **before}
        seq = await target.save(SAVED, payload)
        assert seq is not None
        held |= {c: each.at(versions.get(c), seq) for c, each in stored.items()}
        # A channel that is stored only at intervals refers to its last stored value.
        held = {**base, **held}
        self._cache.put(place, held)
        return held

    def _target(self, place: CheckpointKey) -> Target:
        return Target(
            self._threads, self._threads.stream_of(place.thread_id), place.ns, str(place.checkpoint_id)
        )

    def _payload(
        self, place: CheckpointKey, parent_id: str | None, checkpoint: Mapping[str, Any], metadata: Any
    ) -> dict[str, Any]:
        """Return the payload of a checkpoint without its values."""
        excluded = {"id", "channel_values", "pending_sends"}
        plain = {name: value for name, value in checkpoint.items() if name not in excluded}
        payload = {"thread_id": place.thread_id, "parent_id": parent_id, "checkpoint": plain}
        if (packed := pack(self._serde, metadata)).type == JSON:
            return {**payload, "metadata": packed.value}
        return {**payload, "metadata": {}, "metadata_cell": packed.cell}

    async def _cell(self, channel: str, value: Any, target: Target) -> Cell:
        found = pack(self._serde, value)
        if found.size <= MAX_VALUE_BYTES // 8:
            return found.cell
        return {"at": await spill_bytes(self._serde, value, partial(target.spill, channel))}
