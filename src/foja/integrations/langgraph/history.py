"""The writes to channels that are stored only at intervals (LangGraph's `DeltaChannel`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory

from foja.integrations.langgraph.cache import place_of
from foja.integrations.langgraph.reader import CheckpointReader, Key, Write, key_of
from foja.ledger.reader import BodyRow


async def channel_history(
    reader: CheckpointReader, config: RunnableConfig, channels: Sequence[str]
) -> Mapping[str, DeltaChannelHistory]:
    """Walk from a checkpoint to its ancestors until every channel has a complete value."""
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    open_channels = set(channels)
    async for row, writes in ancestors(reader, config):
        for write in reversed(writes):
            if write.channel in open_channels:
                found[write.channel]["writes"].append((write.task_id, write.channel, write.value))
        seeds = await _seeds(reader, reader.stream_of(place_of(config).thread_id), row, open_channels)
        for channel, value in seeds.items():
            found[channel]["seed"] = value
        open_channels -= seeds.keys()
        if not open_channels:
            break
    for history in found.values():
        history["writes"].reverse()
    return found


async def ancestors(
    reader: CheckpointReader, config: RunnableConfig
) -> AsyncIterator[tuple[BodyRow, list[Write]]]:
    """Yield the ancestors of a checkpoint, nearest first, with their writes, in pages."""
    place = place_of(config)
    target = await reader.find(place)
    wanted = target.payload["parent_id"] if target else None
    stream = reader.stream_of(place.thread_id)
    loaded: dict[Key, BodyRow] = {}
    writes: dict[Key, list[Write]] = {}
    pages = reader.pages(stream, place.ns, target.seq if target else None)
    while wanted is not None:
        key = (place.ns, wanted)
        if key not in loaded:
            page = await anext(pages, None)
            if page is None:
                return
            loaded |= {key_of(row): row for row in page}
            writes |= await reader.writes(stream, page)
            continue
        yield loaded[key], writes.get(key, [])
        wanted = loaded[key].payload["parent_id"]


async def _seeds(reader: CheckpointReader, stream: Any, row: BodyRow, channels: set[str]) -> dict[str, Any]:
    """Return the values that a checkpoint has of these channels."""
    if not channels & (row.payload["values"].keys() | row.payload["held"].keys()):
        return {}
    found, _ = await reader.read(stream, row, {})
    return {c: value for c, value in found.checkpoint["channel_values"].items() if c in channels}
