"""One psycopg connection per caller, for contenders without a client library; named queries."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString

from psycopg import AsyncConnection

from foja.engine.sql import read_queries

Connection = AsyncConnection[tuple[Any, ...]]


async def connect(url: str, callers: int) -> list[Connection]:
    """Return as many connections as callers, each in autocommit mode."""
    return list(
        await asyncio.gather(*(AsyncConnection.connect(url, autocommit=True) for _ in range(callers)))
    )


async def disconnect(connections: list[Connection]) -> None:
    """Close all connections and clear the list."""
    for connection in connections:
        await connection.close()
    connections.clear()


async def fetch(url: str, name: str, **values: object) -> list[tuple[Any, ...]]:
    """Return the rows of one named query, on a new connection."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        return await (await connection.execute(query(name), values or None)).fetchall()


async def execute(url: str, name: str, **values: object) -> None:
    """Run one named statement, on a new connection."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(query(name), values or None)


def query(name: str) -> LiteralString:
    """Return one of the named queries in `bench/sql`."""
    return _queries()[name]


@cache
def _queries() -> dict[str, str]:
    return read_queries(files("bench") / "sql")
