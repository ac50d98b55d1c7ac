"""Writers on both lanes and the sweeper, all on one session."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event
from foja.errors import WrongExpectedSeq
from tests.races.auditor import audit_idle
from tests.races.writers import SAY, TOOL, result, words
from tests.redis_server import RedisServer

SECONDS = 3.0
APPEND_SQL = "select seq, event_id from foja.append_event(%s, 'conversation', %s, %s::jsonb)"


class Scene:
    """One session, and every event that was returned for it."""

    def __init__(self, url: str, talk: Conversation, plain: Conversation, until: float) -> None:
        self.url, self.talk, self.plain, self.until = url, talk, plain, until
        self.returned: dict[int, UUID | None] = {}
        self.done: dict[str, int] = {}

    def note(self, writer: str, seq: int, event_id: UUID | None) -> None:
        assert seq not in self.returned, f"{writer} got {seq}, which was returned before"
        self.returned[seq] = event_id
        self.done[writer] = self.done.get(writer, 0) + 1

    @property
    def going(self) -> bool:
        return asyncio.get_running_loop().time() < self.until


async def write_on_the_lane(scene: Scene) -> None:
    while scene.going:
        event = await scene.talk.append(SAY, words("lane"))
        scene.note("lane", event.seq, event.id)


async def reserve_on_the_lane(scene: Scene) -> None:
    while scene.going:
        slots = await scene.talk.reserve(random.randint(1, 4), ttl=60)
        for ordinal in random.sample(range(len(slots.seqs)), len(slots.seqs)):
            event = await slots.fill(ordinal, TOOL, result("t"))
            assert event.seq == slots.seqs[ordinal]
            scene.note("slots", event.seq, event.id)


async def write_in_sql(scene: Scene) -> None:
    async with await AsyncConnection.connect(scene.url, autocommit=True) as conn:
        while scene.going:
            answer = await conn.execute(APPEND_SQL, (scene.talk.id, SAY, '{"content": "sql"}'))
            [(seq, event_id)] = await answer.fetchall()
            scene.note("sql", seq, event_id)
            await asyncio.sleep(random.uniform(0.1, 0.4))


async def write_expecting(scene: Scene) -> None:
    """Append with `expected_seq`, in a process with Redis and in one without."""
    while scene.going or "expecting" not in scene.done:
        talk = random.choice([scene.talk, scene.plain])
        with contextlib.suppress(WrongExpectedSeq):
            expected = (await talk._ledger.state(talk.id)).next_seq
            event = await talk.append(SAY, words("expecting"), expected_seq=expected)
            assert event.seq == expected
            scene.note("expecting", event.seq, event.id)
        await asyncio.sleep(random.uniform(0.05, 0.3))


async def write_many(scene: Scene) -> None:
    while scene.going:
        events = await scene.plain.append_many([scene.plain.draft(SAY, words("many")) for _ in range(3)])
        verdicts = await scene.talk.append_each([scene.talk.draft(SAY, words("each")) for _ in range(3)])
        for event in [*events, *verdicts]:
            assert isinstance(event, Event)
            scene.note("many", event.seq, event.id)
        await asyncio.sleep(random.uniform(0.2, 0.5))


async def sweep(scene: Scene, app: App) -> None:
    """Void every hole at once: a late writer takes another number."""
    async with await AsyncConnection.connect(scene.url, autocommit=True) as conn:
        await conn.execute("set role foja_sweeper")
        while scene.going:
            await conn.execute("select foja.void_holes(200, interval '0')")
            await app.sequencer.sweep()
            await asyncio.sleep(0.03)


async def test_all_writers_on_one_session(
    open_app: Callable[..., App], database_url: str, redis: RedisServer
) -> None:
    settings: dict[str, Any] = {
        "redis_timeout_seconds": 10.0,
        "lane_return_seconds": 0.1,
        "retry_seconds": 60,
    }
    async with (
        open_app(redis_url=redis.url, **settings) as app,
        open_app(sequence_lane="postgres", retry_seconds=60) as plain,
    ):
        talk = await app.conversations.open()
        until = asyncio.get_running_loop().time() + SECONDS
        scene = Scene(database_url, talk, await plain.conversations.open(talk.id), until)
        lanes = [write_on_the_lane(scene) for _ in range(8)]
        others = [reserve_on_the_lane(scene), write_in_sql(scene), write_expecting(scene), write_many(scene)]
        await asyncio.gather(*lanes, *others, sweep(scene, app))
        await app.work(until_idle=True)
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("set role foja_sweeper")
            conn.execute("select foja.void_holes(200, interval '0')")
        await app.work(until_idle=True)
    books = audit_idle(database_url)
    for seq, event_id in scene.returned.items():
        assert books.streams[talk.id].sheets[seq].id == event_id
    written = [sheet for sheet in books.streams[talk.id].events() if sheet.kind != "slot.voided"]
    assert len(written) == len(scene.returned)
    assert scene.done.keys() == {"lane", "slots", "sql", "expecting", "many"}, scene.done
