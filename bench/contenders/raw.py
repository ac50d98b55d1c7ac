"""The baseline: a plain insert without numbers, keys or a reliable order."""

from __future__ import annotations

from bench.contenders.connections import Connection, connect, disconnect, execute, fetch, query
from bench.contenders.payloads import MESSAGE, Body
from bench.database import BenchDatabase
from bench.harness import Role


class Raw:
    """A table with a bigserial, a kind and a payload."""

    note = "no streams, no numbers; a reader by id loses events"
    role: Role = "baseline"
    lossless = False
    blocking = False

    def __init__(self, name: str, body: Body = MESSAGE) -> None:
        self.name, self._body = name, body
        self._url = ""
        self._connections: list[Connection] = []

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self._url = database.url
        await execute(database.url, "make_raw")
        await execute(database.url, "seed_raw", kind=self._body.kind, body=self._body.json(0), count=streams)

    async def open(self, callers: int) -> None:
        self._connections = await connect(self._url, callers)

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self._connections[caller].execute(
            query("insert_raw"), (self._body.kind, self._body.json(call)), prepare=True
        )

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        rows = [(self._body.kind, self._body.json(call)) for _ in range(size)]
        async with self._connections[caller].cursor() as cursor:
            await cursor.executemany(query("insert_raw"), rows)

    async def close(self) -> None:
        await disconnect(self._connections)

    async def count(self) -> int:
        return int((await fetch(self._url, "count_raw"))[0][0])

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the ids that a reader by id finds."""
        rows = await self._connections[-1].execute(query("tail_raw"), (last, limit), prepare=True)
        return [row[0] for row in await rows.fetchall()]
