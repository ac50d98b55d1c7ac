"""The SQLAlchemy session of the OpenAI Agents SDK, on PostgreSQL."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import uuid4

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

from bench.contenders.connections import fetch
from bench.contenders.items import to_items
from bench.contenders.transcript import ITEMS, Turn
from bench.database import BenchDatabase
from bench.harness import Role


class SqlAlchemySession:
    """Two tables: sessions and messages."""

    role: Role = "peer"
    max_turns: int | None = None
    name, note = "OpenAI Agents SQLAlchemySession", "PostgreSQL, psycopg driver"

    async def open(self, database: BenchDatabase) -> None:
        self._database = database
        url = urlsplit(database.url)._replace(scheme="postgresql+psycopg").geturl()
        self._engine = create_async_engine(url)
        self._session = SQLAlchemySession(str(uuid4()), engine=self._engine, create_tables=True)

    async def write(self, turn: Turn) -> None:
        for items in to_items(turn):
            await self._session.add_items(items)

    async def work(self) -> None:
        pass

    async def reload(self) -> int:
        fresh = SQLAlchemySession(self._session.session_id, engine=self._engine)
        return len(await fresh.get_items()) // ITEMS

    async def size(self) -> int:
        return int((await fetch(self._database.url, "total_size"))[0][0])

    async def close(self) -> None:
        await self._engine.dispose()
