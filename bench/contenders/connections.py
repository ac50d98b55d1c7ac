"""One psycopg connection per caller, for contenders that bring no client of their own."""

from __future__ import annotations

import asyncio
from typing import Any

from psycopg import AsyncConnection

from bench.contenders.text import query

Connection = AsyncConnection[tuple[Any, ...]]


async def connect(url: str, callers: int) -> list[Connection]:
    """Return as many connections as callers, each in autocommit mode."""
    return list(
        await asyncio.gather(*(AsyncConnection.connect(url, autocommit=True) for _ in range(callers)))
    )


async def disconnect(connections: list[Connection]) -> None:
    """Close and forget them all."""
    for connection in connections:
        await connection.close()
    connections.clear()


async def ask(url: str, name: str, **values: object) -> list[tuple[Any, ...]]:
    """Return the rows of one named query, on a connection of its own."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        return await (await connection.execute(query(name), values or None)).fetchall()


async def tell(url: str, name: str, **values: object) -> None:
    """Run one named statement, on a connection of its own."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(query(name), values or None)
