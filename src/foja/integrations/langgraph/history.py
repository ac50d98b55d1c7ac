"""What was written to a channel that is stored only now and then (LangGraph's `DeltaChannel`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory

from foja.integrations.langgraph.cache import place_of
from foja.integrations.langgraph.reader import CheckpointReader, Key, Write, key_of
from foja.ledger.reader import BodyRow


async def channel_history(
    reading: CheckpointReader, config: RunnableConfig, channels: Sequence[str]
) -> Mapping[str, DeltaChannelHistory]:
    """Walk from a checkpoint to its ancestors until every channel was stored whole once."""
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    open_channels = set(channels)
    async for said, writes in ancestors(reading, config):
        for write in reversed(writes):
            if write.channel in open_channels:
                found[write.channel]["writes"].append((write.task_id, write.channel, write.value))
        seeds = await _seeds(reading, reading.stream_of(place_of(config).thread_id), said, open_channels)
        for channel, value in seeds.items():
            found[channel]["seed"] = value
        open_channels -= seeds.keys()
        if not open_channels:
            break
    for history in found.values():
        history["writes"].reverse()
    return found


async def ancestors(
    reading: CheckpointReader, config: RunnableConfig
) -> AsyncIterator[tuple[BodyRow, list[Write]]]:
    """Yield the checkpoints above one, nearest first, with their writes; read a page at a time."""
    place = place_of(config)
    target = await reading.find(place)
    wanted = target.payload["parent_id"] if target else None
    stream = reading.stream_of(place.thread_id)
    near: dict[Key, BodyRow] = {}
    writes: dict[Key, list[Write]] = {}
    pages = reading.pages(stream, place.ns, target.seq if target else None)
    while wanted is not None:
        key = (place.ns, wanted)
        if key not in near:
            page = await anext(pages, None)
            if page is None:
                return
            near |= {key_of(said): said for said in page}
            writes |= await reading.writes(stream, page)
            continue
        yield near[key], writes.get(key, [])
        wanted = near[key].payload["parent_id"]


async def _seeds(reading: CheckpointReader, stream: Any, said: BodyRow, channels: set[str]) -> dict[str, Any]:
    """Return the channels among these that a checkpoint has a value of."""
    if not channels & (said.payload["values"].keys() | said.payload["held"].keys()):
        return {}
    found, _ = await reading.read(stream, said, {})
    return {c: value for c, value in found.checkpoint["channel_values"].items() if c in channels}
