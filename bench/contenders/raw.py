"""The floor: insert and nothing else. No numbers, no keys, no order a reader could trust."""

from __future__ import annotations

from bench.contenders.connections import Connection, ask, connect, disconnect, tell
from bench.contenders.text import KIND, body, query
from bench.harness import Role
from bench.place import Room


class Raw:
    """A bigserial, a kind, a payload."""

    note = "no stream, no number of its own; a tail by id loses events"
    role: Role = "floor"
    lossless = False
    blocking = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._url = ""
        self._connections: list[Connection] = []

    async def create(self, room: Room, streams: int) -> None:
        self._url = room.url
        await tell(room.url, "make_raw")
        await tell(room.url, "seed_raw", kind=KIND, body=body(0), count=streams)

    async def open(self, callers: int) -> None:
        self._connections = await connect(self._url, callers)

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self._connections[caller].execute(query("insert_raw"), (KIND, body(call)), prepare=True)

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        rows = [(KIND, body(call)) for _ in range(size)]
        async with self._connections[caller].cursor() as cursor:
            await cursor.executemany(query("insert_raw"), rows)

    async def close(self) -> None:
        await disconnect(self._connections)

    async def count(self) -> int:
        return int((await ask(self._url, "count_raw"))[0][0])

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the ids a naive tail reader finds."""
        rows = await self._connections[-1].execute(query("tail_raw"), (last, limit), prepare=True)
        return [row[0] for row in await rows.fetchall()]
