"""The OpenAI Agents SDK's own session on PostgreSQL, by SQLAlchemy."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import uuid4

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

from bench.contenders.connections import ask
from bench.contenders.items import items_of
from bench.contenders.transcript import ITEMS, Turn
from bench.harness import Role
from bench.place import Room


class SqlAlchemySession:
    """Two tables: sessions and messages."""

    role: Role = "peer"
    most: int | None = None
    name, note = "OpenAI Agents SQLAlchemySession", "PostgreSQL by psycopg"

    async def open(self, room: Room) -> None:
        self._room = room
        url = urlsplit(room.url)._replace(scheme="postgresql+psycopg").geturl()
        self._engine = create_async_engine(url)
        self._session = SQLAlchemySession(str(uuid4()), engine=self._engine, create_tables=True)

    async def write(self, turn: Turn) -> None:
        for items in items_of(turn):
            await self._session.add_items(items)

    async def rest(self) -> None:
        pass

    async def reload(self) -> int:
        fresh = SQLAlchemySession(self._session.session_id, engine=self._engine)
        return len(await fresh.get_items()) // ITEMS

    async def size(self) -> int:
        return int((await ask(self._room.url, "total_size"))[0][0])

    async def close(self) -> None:
        await self._engine.dispose()
