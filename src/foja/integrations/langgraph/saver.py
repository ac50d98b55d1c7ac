"""A checkpointer for LangGraph whose threads are streams of the ledger.

A checkpoint is one event: its own data, the values that are new in it, and for every other
channel the number of the event that holds it. The latest checkpoint is the last one written;
a clock orders nothing. Deleting and pruning erase: what a state held is gone, that there was
one stays proven.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from foja.app import App
from foja.errors import Refused
from foja.integrations.langgraph.history import channel_history
from foja.integrations.langgraph.reader import CheckpointReader
from foja.integrations.langgraph.writer import CheckpointWriter

Result = TypeVar("Result")


class LedgerSaver(BaseCheckpointSaver[str]):
    """Saves the threads of graphs. Make it in the event loop of its `app`.

    The methods without an `a` are for other threads: they wait for that loop.
    """

    def __init__(self, app: App, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._loop = asyncio.get_running_loop()
        self._threads = app.threads
        self._writing = CheckpointWriter(app.threads)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint a config names, or the latest of its thread."""
        return await self._reading().tuple_of(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first; of every thread if no config is given."""
        async for found in self._reading().tuples(config, filter or {}, before, limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        return await self._writing.put(self.serde, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote on the way to the next checkpoint."""
        await self._writing.put_writes(self.serde, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Erase everything a thread says."""
        await self._writing.delete(self._threads.stream_of(thread_id), "delete_thread")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the checkpoints of some runs and their writes. Looks into every thread."""
        for stream in await self._threads.streams() if run_ids else []:
            await self._writing.delete_runs(self.serde, stream, frozenset(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Say everything again in another thread, oldest first."""
        await self._writing.copy(self.serde, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all but the latest checkpoint of each namespace, or everything (`delete`)."""
        if strategy not in {"keep_latest", "delete"}:
            raise Refused(f"there is no way to prune called {strategy!r}; use keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self._writing.delete(self._threads.stream_of(thread_id), "prune")
            else:
                await self._writing.keep_latest(self.serde, thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels since a value of theirs was last stored whole."""
        return await channel_history(self._reading(), config, channels)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version above the last; two branches of a thread never make the same."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:010}.{random.getrandbits(40):010x}"

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The same as `aget_tuple`, for another thread."""
        return self._wait(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The same as `alist`, for another thread."""
        found = self.alist(config, filter=filter, before=before, limit=limit)
        while one := self._wait(cast("Coroutine[Any, Any, CheckpointTuple | None]", anext(found, None))):
            yield one

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """The same as `aput`, for another thread."""
        return self._wait(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The same as `aput_writes`, for another thread."""
        self._wait(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """The same as `adelete_thread`, for another thread."""
        self._wait(self.adelete_thread(thread_id))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The same as `aget_delta_channel_history`, for another thread."""
        return self._wait(self.aget_delta_channel_history(config=config, channels=channels))

    def _reading(self) -> CheckpointReader:
        return CheckpointReader(self._threads, self.serde, self._writing.seen)

    def _wait(self, asked: Coroutine[Any, Any, Result]) -> Result:
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            asked.close()
            raise Refused("this is the loop that would do it; await the method that begins with an a")
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()
