"""Sixteen writers in two processes on a few sessions, with a Redis that a test can break."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

import foja
from foja.app import App
from foja.engine.ledger.event import Event, StreamItem
from foja.engine.ledger.slots import Slots
from foja.errors import Unavailable
from tests.faults.load import Diary, Order, begin, count_told, read_diary
from tests.races.auditor import Books, audit_idle
from tests.races.writers import TOOL, result, streams
from tests.redis_server import RedisServer

SETTINGS: dict[str, Any] = {
    "lane_return_seconds": 0.5,
    "redis_timeout_seconds": 10.0,  # a slow test machine is not a slow Redis
    "connections": 6,
}
WATCH_MOVES = """
    create table public.moved (id bigserial primary key, entity_id uuid, lane text, fence uuid);
    create function public.note_move() returns trigger language plpgsql as $$
    begin
        insert into public.moved (entity_id, lane, fence) values (new.entity_id, new.lane, new.fence);
        return null;
    end $$;
    create trigger note_move after update of fence on foja.entity
        for each row when (old.fence is distinct from new.fence) execute function public.note_move();
"""


@dataclass
class Watch:
    """A follower that must never be reset."""

    received: dict[int, UUID | None] = field(default_factory=dict)

    async def listen(self, source: AsyncIterator[StreamItem]) -> None:
        async for event in source:
            assert isinstance(event, Event), event
            self.received[event.seq] = event.id


@dataclass
class Scene:
    """The servers, writers and followers of a test, and checks of their state."""

    url: str
    redis: RedisServer
    app: App
    sessions: list[UUID]
    orders: list[Order]
    processes: list[BaseProcess]
    watches: dict[UUID, Watch]
    held: list[Slots] = field(default_factory=list)

    async def write(self, events: int = 60) -> None:
        """Wait until every process has written `events` more events."""
        before = [count_told(order.diary) for order in self.orders]
        await self.until(
            lambda: all(
                count_told(order.diary) >= count + events
                for order, count in zip(self.orders, before, strict=True)
            )
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, at most a minute."""
        async with asyncio.timeout(60):
            while not condition():
                assert all(process.is_alive() for process in self.processes)
                await asyncio.sleep(0.02)

    async def on(self, lane: str) -> None:
        """Wait until every session is on a lane."""
        await self.until(lambda: set(self.lanes()) == {lane})

    def lanes(self) -> list[str]:
        with psycopg.connect(self.url) as conn:
            rows = conn.execute("select lane from foja.entity where entity_id = any (%s)", (self.sessions,))
            return [lane for (lane,) in rows.fetchall()]

    def fences(self) -> list[tuple[UUID, UUID]]:
        with psycopg.connect(self.url) as conn:
            query = "select entity_id, fence from foja.entity where entity_id = any (%s)"
            return conn.execute(query, (self.sessions,)).fetchall()

    async def hold_slots(self) -> None:
        """Reserve numbers that stay open until `fill_slots`."""
        for session in self.sessions:
            talk = await self.app.conversations.open(session)
            self.held.append(await talk.reserve(3, ttl=120))

    async def fill_slots(self) -> None:
        """Fill the reserved numbers; they must still be valid."""
        for slots in self.held:
            for ordinal in (2, 0, 1):
                event = await slots.fill(ordinal, TOOL, result("held"))
                assert event.seq == slots.seqs[ordinal]

    def moves(self) -> dict[UUID, int]:
        """Return how often each session moved after it first came to Redis."""
        with psycopg.connect(self.url) as conn:
            moved = Counter(row[0] for row in conn.execute("select entity_id from public.moved"))
        return {session: moved[session] - 1 for session in self.sessions}

    async def finish(self) -> Books:
        """Stop the writers, void unused numbers, and check everything."""
        await self.fill_slots()
        for order in self.orders:
            order.stop()
        for process in self.processes:
            await asyncio.to_thread(process.join, 60)
            assert process.exitcode == 0
        await self.settle()
        books = audit_idle(self.url)
        self.check(books)
        await self.caught_up(books)
        return books

    async def settle(self) -> None:
        """Void the numbers that were given and never used, as a sweeper does after five seconds."""
        for _ in range(8):
            # Connections that a stopped server broke are replaced one by one.
            with contextlib.suppress(Unavailable):
                await self.app.work(until_idle=True)
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute("set role foja_sweeper")
            for _ in range(3):
                conn.execute("select foja.void_holes(200, interval '0')")
        await self.app.work(until_idle=True)

    def check(self, books: Books) -> None:
        """Check that every returned event is a row with that number and hash, and that keys are unique."""
        for diary in self.diaries():
            assert diary.told
            for key, (session, seq, body_hash) in diary.told.items():
                sheet = books.streams[session].sheets[seq]
                assert (sheet.key, sheet.body_hash) == (key, body_hash)
        for session in self.sessions:
            keys = [sheet.key for sheet in books.streams[session].events() if sheet.key]
            assert len(keys) == len(set(keys))

    async def caught_up(self, books: Books) -> None:
        for session, watch in self.watches.items():
            everything = {sheet.seq: sheet.id for sheet in books.streams[session].events()}
            deadline = asyncio.get_running_loop().time() + 60
            while watch.received != everything:
                difference = set(everything.items()) ^ set(watch.received.items())
                assert asyncio.get_running_loop().time() < deadline, difference
                await asyncio.sleep(0.02)

    def diaries(self) -> list[Diary]:
        return [read_diary(order.diary) for order in self.orders]


@contextlib.asynccontextmanager
async def scene(url: str, home: Path, redis: RedisServer, **settings: Any) -> AsyncIterator[Scene]:
    """Start the writers, wait until they write on the Redis lane, and yield the scene."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(WATCH_MOVES)
    sessions = streams(2)
    settings = {**SETTINGS, "redis_url": redis.url, **settings}
    orders = [Order(url, home, home / f"diary-{n}", sessions, str(n), settings) for n in range(2)]
    processes = [begin(order) for order in orders]
    watches = {session: Watch() for session in sessions}
    try:
        async with foja.connect(database_url=url, home=home, **settings) as app, asyncio.TaskGroup() as group:
            follows = [
                group.create_task(watches[session].listen((await app.conversations.open(session)).follow()))
                for session in sessions
            ]
            stage = Scene(url, redis, app, sessions, orders, processes, watches)
            await stage.until(lambda: all(count_told(order.diary) > 40 for order in orders))
            await stage.on("redis")
            yield stage
            for follow in follows:
                follow.cancel()
    finally:
        for process in processes:
            process.kill()
            process.join()
