"""The PostgreSQL checkpointer of LangGraph and ours, called as a graph of a model and its tools does.

With a plain channel every checkpoint holds all messages. With the `DeltaChannel` of LangGraph (beta)
the writes hold the messages, and every hundredth update stores the whole list.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, create_checkpoint, empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from psycopg import AsyncConnection
from psycopg.rows import dict_row

import foja
from bench.contenders.connections import fetch
from bench.contenders.transcript import TOOLS, Turn
from bench.database import BenchDatabase
from bench.harness import Role
from foja.integrations.langgraph import LedgerSaver

MESSAGES = 3 + TOOLS  # of one turn
SNAPSHOT = 100
PLAIN_TURNS = 100


class Checkpointer:
    """A saver with one thread."""

    def __init__(self, name: str, *, ours: bool, delta: bool) -> None:
        self.name, self._ours, self._delta = name, ours, delta
        self.role: Role = "foja" if ours else "peer"
        self.max_turns = None if delta else PLAIN_TURNS
        self.note = "DeltaChannel (beta)" if delta else f"a plain channel; only {PLAIN_TURNS} turns"
        self._open = AsyncExitStack()
        self._saver: BaseCheckpointSaver[Any]

    async def open(self, database: BenchDatabase) -> None:
        self._database = database
        if self._ours:
            self._app = await self._open.enter_async_context(
                foja.connect(database_url=database.url, home=database.folder)
            )
        else:
            self._connection: Any = await self._open.enter_async_context(
                await AsyncConnection.connect(
                    database.url, autocommit=True, prepare_threshold=0, row_factory=dict_row
                )
            )
        self._saver = self._new_saver()
        if isinstance(self._saver, AsyncPostgresSaver):
            await self._saver.setup()
        self._config: RunnableConfig = {"configurable": {"thread_id": str(uuid4()), "checkpoint_ns": ""}}
        self._checkpoint: Any = empty_checkpoint()
        self._messages: list[AnyMessage] = []
        self._updates = 0

    async def write(self, turn: Turn) -> None:
        calls: Any = [{"id": call.id, "name": call.name, "args": call.args} for call in turn.calls]
        await self._step([HumanMessage(turn.question, id=f"h{turn.number}")])
        await self._step([AIMessage("", tool_calls=calls, id=f"c{turn.number}")])
        results: list[list[AnyMessage]] = [
            [ToolMessage(call.result, tool_call_id=call.id, id=call.id)] for call in turn.calls
        ]
        await self._step(*results)
        await self._step([AIMessage(turn.answer, id=f"a{turn.number}")])

    async def work(self) -> None:
        if self._ours:
            await self._app.work(until_idle=True)

    async def reload(self) -> int:
        saver = self._new_saver()
        config: Any = {"configurable": {"thread_id": self._config["configurable"]["thread_id"]}}
        found = await saver.aget_tuple(config)
        assert found
        messages = await self._history(saver, found.config) if self._delta else []
        messages += found.checkpoint["channel_values"].get("messages", []) if not self._delta else []
        for _, channel, value in found.pending_writes or []:
            messages += value if channel == "messages" else []
        return len(messages) // MESSAGES

    async def _history(self, saver: BaseCheckpointSaver[Any], config: RunnableConfig) -> list[AnyMessage]:
        found = await saver.aget_delta_channel_history(config=config, channels=["messages"])
        seed: Any = found["messages"].get("seed")
        messages = list(seed.value) if seed else []
        for _, _, value in found["messages"]["writes"]:
            messages += value
        return messages

    async def size(self) -> int:
        return int((await fetch(self._database.url, "total_size"))[0][0])

    async def close(self) -> None:
        await self._open.aclose()

    def _new_saver(self) -> BaseCheckpointSaver[Any]:
        return LedgerSaver(self._app) if self._ours else AsyncPostgresSaver(self._connection)

    async def _step(self, *writes: list[AnyMessage]) -> None:
        """Save a checkpoint, then the writes of each task."""
        await self._save()
        for task, messages in enumerate(writes):
            await self._saver.aput_writes(self._config, [("messages", messages)], str(uuid4()), f"~{task}")
            self._messages += messages
        self._updates += 1

    async def _save(self) -> None:
        versions = dict(self._checkpoint["channel_versions"])
        version = self._saver.get_next_version(versions.get("messages"), None)
        new = {"messages": version}
        values: dict[str, Any] = {} if self._delta else {"messages": list(self._messages)}
        if self._delta and self._updates and self._updates % SNAPSHOT == 0:
            values = {"messages": _DeltaSnapshot(list(self._messages))}
        seen = {"model": dict(new), "tools": dict(new), "__input__": {}}
        self._checkpoint = {
            **create_checkpoint(self._checkpoint, None, self._updates),
            "channel_values": values,
            "channel_versions": {**versions, **new},
            "versions_seen": seen,
        }
        metadata: Any = {"source": "loop", "step": self._updates, "parents": {}}
        self._config = await self._saver.aput(self._config, self._checkpoint, metadata, new)
