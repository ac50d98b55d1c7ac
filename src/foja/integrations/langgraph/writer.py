"""Checkpoints into events: put, put writes, copy, delete, prune."""

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

from foja.core.event import lp, utf8
from foja.errors import IdempotencyConflict
from foja.integrations.langgraph.cache import Channels, CheckpointCache, CheckpointKey, place_of
from foja.integrations.langgraph.codec import JSON, Cell, pack
from foja.integrations.langgraph.reader import CheckpointReader, Key, Write, key_of
from foja.integrations.langgraph.values import MAX_VALUE_BYTES, Storing, spill_bytes, store
from foja.ledger.reader import BodyRow
from foja.threads.model.events import SAVED, VALUES, WRITTEN, event_id
from foja.threads.service import CheckpointBody, Threads


@dataclass(frozen=True, slots=True)
class Target:
    """Where something about a checkpoint is written."""

    threads: Threads
    stream: UUID
    ns: str
    checkpoint_id: str

    async def save(self, kind: str, payload: Mapping[str, Any], rest: bytes | None = None) -> int | None:
        """Write one event; returns its number, or None if the one said before was erased."""
        about = {"ns": self.ns, "checkpoint_id": self.checkpoint_id, **payload}
        named = event_id(self.ns, self.checkpoint_id, rest or os.urandom(16))
        event = await self.threads.save(self.stream, kind, about, named)
        return None if event.payload is None else event.seq

    async def spill(self, channel: str, cell: Cell) -> int:
        """Write a value in an event of its own."""
        seq = await self.save(VALUES, {"values": {channel: cell}})
        assert seq is not None
        return seq


class CheckpointWriter:
    """Writes the threads of one saver."""

    def __init__(self, threads: Threads) -> None:
        self.seen = CheckpointCache()
        self._threads = threads

    async def put(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        checkpoint: Mapping[str, Any],
        metadata: Any,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint: what is new in it, and where the rest is held."""
        parent = place_of(config)
        place = parent.at(checkpoint["id"])
        base = await self._held(serde, parent)
        described = get_serializable_checkpoint_metadata(config, metadata)
        await self._save(serde, place, parent.checkpoint_id, checkpoint, described, base, set(new_versions))
        return place.config

    async def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        path: str,
    ) -> None:
        """Save a task's writes. Those of an index stay as they were first said."""
        target = self._target(place_of(config))
        cells = [
            [WRITES_IDX_MAP.get(channel, n), channel, await _cell(serde, channel, value, target)]
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
            pass

    async def copy(self, serde: SerializerProtocol, source: str, to: str) -> None:
        """Say everything of one thread again in another."""
        reading = CheckpointReader(self._threads, serde, self.seen)
        saved = [said async for page in reading.pages(self._threads.stream_of(source), None) for said in page]
        await self._say_again(reading, serde, self._threads.stream_of(source), saved, to)

    async def delete(self, stream: UUID, reason: str) -> None:
        """Erase everything a thread says."""
        self.seen.forget()
        bodies = await self._threads.bodies(stream)
        await self._threads.erase(stream, [body.seq for body in bodies], reason=reason)

    async def delete_runs(self, serde: SerializerProtocol, stream: UUID, runs: frozenset[str]) -> None:
        """Erase the checkpoints of some runs. What others rest on is said again first."""
        bodies = await self._threads.bodies(stream)
        saved = {(body.ns, body.checkpoint_id) for body in bodies if body.kind == SAVED}
        gone = {(body.ns, body.checkpoint_id) for body in bodies if body.run_id in runs}
        if gone:
            await self._keep(serde, stream, bodies, saved - gone, reason="delete_for_runs")

    async def keep_latest(self, serde: SerializerProtocol, thread_id: str) -> None:
        """Erase all but the latest checkpoint of each namespace; meant for a thread that is at rest."""
        stream = self._threads.stream_of(thread_id)
        bodies = await self._threads.bodies(stream)
        latest = {body.ns: body.checkpoint_id for body in bodies if body.kind == SAVED}
        await self._keep(serde, stream, bodies, set(latest.items()), reason="prune")

    async def _keep(
        self,
        serde: SerializerProtocol,
        stream: UUID,
        bodies: Sequence[CheckpointBody],
        kept: set[Key],
        *,
        reason: str,
    ) -> None:
        """Say the checkpoints to be kept again, then erase everything said before."""
        self.seen.forget()
        reading = CheckpointReader(self._threads, serde, self.seen)
        saved = [said async for page in reading.pages(stream, None) for said in page if key_of(said) in kept]
        if saved:
            await self._say_again(reading, serde, stream, saved, saved[0].payload["thread_id"])
        await self._threads.erase(stream, [body.seq for body in bodies], reason=reason)

    async def _say_again(
        self,
        reading: CheckpointReader,
        serde: SerializerProtocol,
        stream: UUID,
        saved: Sequence[BodyRow],
        to: str,
    ) -> None:
        """Save checkpoints, given newest first, once more: the oldest first, each resting on the last."""
        bases: dict[str, Channels] = {}
        for said in reversed(saved):
            ns, checkpoint_id = key_of(said)
            found, _ = await reading.read(stream, said, {})
            if reason_against := found.metadata.get("counters_since_delta_snapshot"):
                raise NotImplementedError(f"a thread with a DeltaChannel is kept whole ({reason_against})")
            place, checkpoint = CheckpointKey(to, ns, checkpoint_id), dict(found.checkpoint)
            bases[ns] = await self._save(
                serde, place, said.payload["parent_id"], checkpoint, found.metadata, bases.get(ns, {}), None
            )
            for write in (await reading.writes(stream, [said])).get((ns, checkpoint_id), []):
                await self._write_again(serde, self._target(place), write)

    async def _write_again(self, serde: SerializerProtocol, target: Target, write: Write) -> None:
        cell = await _cell(serde, write.channel, write.value, target)
        saying = {"task_id": write.task_id, "path": write.path}
        await target.save(WRITTEN, {**saying, "writes": [[write.number, write.channel, cell]]})

    async def _held(self, serde: SerializerProtocol, parent: CheckpointKey) -> Channels:
        """Return where the values of a checkpoint are."""
        if parent.checkpoint_id is None:
            return {}
        held = self.seen.find(parent)
        if held is None:
            reading = CheckpointReader(self._threads, serde, self.seen)
            said = await reading.find(parent)
            held = (
                (await reading.read(self._threads.stream_of(parent.thread_id), said, {}))[1] if said else {}
            )
        return held

    async def _save(
        self,
        serde: SerializerProtocol,
        place: CheckpointKey,
        parent_id: str | None,
        checkpoint: Mapping[str, Any],
        metadata: Any,
        base: Channels,
        fresh: set[str] | None,
    ) -> Channels:
        """Write one checkpoint; `fresh` names the channels that are new in it, None means any may be."""
        target, versions = self._target(place), checkpoint["channel_versions"]
        held: Channels = {}
        stored: dict[str, Storing] = {}
        room = MAX_VALUE_BYTES
        for channel, value in checkpoint["channel_values"].items():
            known = base.get(channel)
            if (
                fresh is not None
                and known
                and channel not in fresh
                and known.version == versions.get(channel)
            ):
                held[channel] = known
                continue
            stored[channel] = await store(serde, value, known, room, partial(target.spill, channel))
            room -= stored[channel].size
        payload = _payload(serde, place, parent_id, checkpoint, metadata)
        payload["values"] = {c: each.cell for c, each in stored.items() if each.cell is not None}
        before = {c: each.seq for c, each in stored.items() if each.seq is not None}
        payload["held"] = {**{c: each.seq for c, each in held.items()}, **before}
        seq = await target.save(SAVED, payload)
        assert seq is not None
        held |= {c: each.held(versions.get(c), seq) for c, each in stored.items()}
        # A channel that is stored only now and then rests on what was stored last.
        held = {**base, **held}
        self.seen.keep(place, held)
        return held

    def _target(self, place: CheckpointKey) -> Target:
        return Target(
            self._threads, self._threads.stream_of(place.thread_id), place.ns, str(place.checkpoint_id)
        )


def _payload(
    serde: SerializerProtocol,
    place: CheckpointKey,
    parent_id: str | None,
    checkpoint: Mapping[str, Any],
    metadata: Any,
) -> dict[str, Any]:
    """Return what a checkpoint says beside its values."""
    left_out = {"id", "channel_values", "pending_sends"}
    plain = {name: value for name, value in checkpoint.items() if name not in left_out}
    payload = {"thread_id": place.thread_id, "parent_id": parent_id, "checkpoint": plain}
    if (described := pack(serde, metadata)).type == JSON:
        return {**payload, "metadata": described.value}
    return {**payload, "metadata": {}, "metadata_cell": described.cell}


async def _cell(serde: SerializerProtocol, channel: str, value: Any, target: Target) -> Cell:
    found = pack(serde, value)
    if found.size <= MAX_VALUE_BYTES // 8:
        return found.cell
    return {"at": await spill_bytes(serde, value, partial(target.spill, channel))}
