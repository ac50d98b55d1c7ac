"""A checkpointer for LangGraph whose threads are streams of the ledger.

A checkpoint is one event: its own data, the values that are new in it, and for every other
channel the number of the event that stores its value. The latest checkpoint is the last one
appended; no clock orders them. Deleting and pruning erase: the content of a state is gone,
the proof that it was recorded stays.
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

from foja.errors import Refused
from foja.integrations.langgraph.cache import CheckpointCache
from foja.integrations.langgraph.reader import CheckpointReader
from foja.integrations.langgraph.writer import CheckpointWriter
from foja.tenant import TenantApp

Result = TypeVar("Result")


class LedgerSaver(BaseCheckpointSaver[str]):
    """Saves the threads of graphs. Create it in the event loop of its `app`.

    The synchronous methods are for other threads: they wait for that loop.
    """

    def __init__(self, app: TenantApp, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._loop = asyncio.get_running_loop()
        self._threads = app.threads
        self._cache = CheckpointCache()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the latest of its thread."""
        return await self._reader().tuple_of(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first; of every thread if no config is given."""
        async for found in self._reader().tuples(config, filter or {}, before, limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        return await self._writer().put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a task's writes before the next checkpoint."""
        await self._writer().put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Erase the events of a thread."""
        await self._writer().delete(self._threads.stream_of(thread_id), "delete_thread")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the checkpoints of some runs and their writes. It searches every thread."""
        for stream in await self._threads.streams() if run_ids else []:
            await self._writer().delete_runs(stream, frozenset(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints to another thread, oldest first."""
        await self._writer().copy(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all but the latest checkpoint of each namespace, or everything (`delete`)."""
        if strategy not in {"keep_latest", "delete"}:
            raise Refused(f"not a valid strategy: {strategy!r}; use keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self._writer().delete(self._threads.stream_of(thread_id), "prune")
            else:
                await self._writer().keep_latest(thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to channels since their last complete value."""
        return await self._reader().channel_history(config, channels)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version above the last; two branches of a thread never get the same one."""
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

    def _reader(self) -> CheckpointReader:
        return CheckpointReader(self._threads, self.serde, self._cache)

    def _writer(self) -> CheckpointWriter:
        return CheckpointWriter(self._threads, self.serde, self._cache)

    def _wait(self, call: Coroutine[Any, Any, Result]) -> Result:
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            call.close()
            raise Refused("this call would block its own event loop; await the method that begins with an a")
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()
