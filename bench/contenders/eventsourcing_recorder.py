"""The `eventsourcing` library with its PostgreSQL recorder, in both of its modes.

Its callers choose the numbers. Here they share one process, a lock per stream and the last number,
which is the best case: separate processes would read first and retry after a conflict.
"""

from __future__ import annotations

import asyncio
from threading import Lock
from uuid import uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from bench.contenders.connections import fetch
from bench.contenders.payloads import MESSAGE
from bench.database import BenchDatabase
from bench.harness import Role

SEED = 500


class EventSourcing:
    """Its recorder. With `functions` there is no table lock, so readers can miss events."""

    role: Role = "peer"
    blocking = True

    def __init__(self, *, functions: bool) -> None:
        self.name = "eventsourcing, db functions" if functions else "eventsourcing"
        self.note = (
            "enable_db_functions: no table lock, a reader can lose events"
            if functions
            else "locks the whole table"
        )
        self.lossless, self._functions = not functions, functions
        self._url = ""
        self._recorder: PostgresApplicationRecorder

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self._url = database.url
        self._ids = [uuid4() for _ in range(streams)]
        self._versions = [1] * streams
        self._locks = [Lock() for _ in range(streams)]
        await self.open(1)
        self._recorder.create_table()
        for start in range(0, streams, SEED):
            part = [
                StoredEvent(each, 1, MESSAGE.kind, MESSAGE.json(0).encode())
                for each in self._ids[start : start + SEED]
            ]
            self._recorder.insert_events(part)
        await self.close()

    async def open(self, callers: int) -> None:
        parameters = conninfo_to_dict(self._url)
        datastore = PostgresDatastore(
            dbname=str(parameters["dbname"]),
            host=str(parameters["host"]),
            port=str(parameters.get("port", 5432)),
            user=str(parameters.get("user", "")),
            password=str(parameters.get("password", "")),
            pool_size=callers,
            connect_timeout=60,
            enable_db_functions=self._functions,
        )
        await asyncio.to_thread(datastore.pool.open, wait=True, timeout=60)
        self._recorder = PostgresApplicationRecorder(datastore)

    async def append(self, caller: int, call: int, stream: int) -> None:
        await self.append_list(caller, call, stream, 1)

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        with self._locks[stream]:
            first = self._versions[stream] + 1
            numbers = range(first, first + size)
            events = [
                StoredEvent(self._ids[stream], n, MESSAGE.kind, MESSAGE.json(call).encode()) for n in numbers
            ]
            self._recorder.insert_events(events)
            self._versions[stream] += size

    async def close(self) -> None:
        await asyncio.to_thread(self._recorder.datastore.close)

    async def count(self) -> int:
        return int((await fetch(self._url, "count_stored_events"))[0][0])

    async def read_after(self, last: int, limit: int) -> list[int]:
        """Return the notification ids that its own reader finds."""
        found = await asyncio.to_thread(
            self._recorder.select_notifications, last, limit, inclusive_of_start=False
        )
        return [notification.id for notification in found]
