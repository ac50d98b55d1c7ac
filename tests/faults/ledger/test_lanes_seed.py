"""Faults of the seed's system, each by its name (notes A10; D1, D5 and D17 of its register)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event
from foja.errors import LedgerUnavailable, Refused
from tests.faults.proxy import wired
from tests.races.auditor import audit_idle
from tests.races.writers import SAY, TOOL, result, words
from tests.redis_server import RedisServer

RETURN = 0.2


@pytest.fixture
async def app(open_app: Callable[..., App], redis: RedisServer) -> AsyncIterator[App]:
    settings = {"lane_return_seconds": RETURN, "redis_timeout_seconds": 10.0}
    async with open_app(redis_url=redis.url, **settings) as app:
        yield app


async def say(talk: Conversation, *texts: str) -> list[int]:
    return [(await talk.append(SAY, words(text))).seq for text in texts]


def lane(admin: psycopg.Connection[Any], talk: Conversation) -> str:
    [(found,)] = admin.execute("select lane from foja.entity where entity_id = %s", (talk.id,)).fetchall()
    return str(found)


async def back_on_redis(admin: psycopg.Connection[Any], talk: Conversation) -> list[int]:
    """Write until the conversation is back on Redis; return the numbers."""
    numbers = []
    async with asyncio.timeout(30):
        while lane(admin, talk) != "redis":
            numbers += await say(talk, "again")
            await asyncio.sleep(0.05)
    return numbers


Admin = psycopg.Connection[Any]


async def test_a_short_outage_of_redis_loses_nothing(app: App, admin: Admin, redis: RedisServer) -> None:
    talk = await app.conversations.open()
    numbers = await say(talk, "a", "b")
    assert lane(admin, talk) == "redis"
    redis.stop()
    numbers += await say(talk, "c")
    assert lane(admin, talk) == "postgres"
    redis.start()
    numbers += await back_on_redis(admin, talk)
    numbers += await say(talk, "the very next one", "and one more")
    assert numbers == list(range(len(numbers)))


async def test_an_expired_counter_fails_no_append(app: App, redis: RedisServer) -> None:
    talk = await app.conversations.open()
    assert await say(talk, *"a" * 40) == list(range(40))
    with redis.client() as client:
        [client.pexpire(key, 0) for key in redis.counters()]
    numbers = await say(talk, *"b" * 40)
    assert numbers == sorted(set(numbers))
    assert numbers[0] >= 40


async def test_a_fallback_append_does_not_use_a_reserved_number(app: App, redis: RedisServer) -> None:
    talk = await app.conversations.open()
    await say(talk, "ask")
    slots = await talk.reserve(3)
    redis.stop()
    assert await say(talk, "meanwhile") == [4]
    filled = [await slots.fill(ordinal, TOOL, result("t")) for ordinal in (2, 0, 1)]
    assert [event.seq for event in filled] == [3, 1, 2]


async def test_five_numbers_reserved_without_redis_are_five(app: App, redis: RedisServer) -> None:
    talk = await app.conversations.open()
    await say(talk, *"abcdef")
    redis.stop()
    assert (await talk.reserve(5)).seqs == (6, 7, 8, 9, 10)


async def test_a_denied_tool_leaves_a_voided_slot_and_no_gap(
    app: App, admin: Admin, database_url: str
) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(3)
    await slots.fill(2, TOOL, result("c"))
    await slots.fill(0, TOOL, result("a"))
    await slots.void(1, reason="denied")
    await say(talk, "after")
    await app.work(until_idle=True)
    assert [event.kind for event in await talk.events()] == [TOOL, "slot.voided", TOOL, SAY]
    assert audit_idle(database_url).streams[talk.id].sealed == 4
    assert lane(admin, talk) == "redis"


async def test_no_clock_numbers_an_event(
    open_app: Callable[..., App], database_url: str, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="foja.lanes")
    settings = {"redis_url": redis.url, "redis_timeout_seconds": 10.0, "retry_seconds": 0.1}
    async with wired(database_url) as wire, open_app(database_url=wire.url, **settings) as app:
        talk = await app.conversations.open()
        assert await say(talk, "a") == [0]
        redis.stop()
        assert await say(talk, "b") == [1]
        wire.cut("append", "before", times=1_000)
        with pytest.raises(LedgerUnavailable):
            await say(talk, "without a number")
        wire.cut("append", "before", times=0)
        assert await say(talk, "c") == [2]
        assert [event.seq for event in await talk.events()] == [0, 1, 2]
    lines = [record for record in caplog.records if record.name == "foja.lanes"]
    assert {(line.levelname, line.message, line.__dict__["sessionId"]) for line in lines} == {
        ("DEBUG", "Next sequence number from Redis", str(talk.id)),
        ("WARNING", "Redis not available, falling back to database", str(talk.id)),
        ("ERROR", "Failed to get next sequence number", str(talk.id)),
    }
    fields = {line.message: line.__dict__ for line in lines}
    assert fields["Next sequence number from Redis"]["sequenceNumber"] == 0
    assert "does not answer" in fields["Failed to get next sequence number"]["error"]


async def test_sequence_zero_is_a_number(app: App) -> None:
    talk, other = await app.conversations.open(), await app.conversations.open()
    slots = await talk.reserve(1)
    assert slots.seqs == (0,)
    assert (await slots.fill(0, TOOL, result("t"))).seq == 0
    assert (await other.append(SAY, words("first"))).seq == 0


async def test_sixteen_writers_without_redis_and_after_its_return(
    app: App, admin: Admin, redis: RedisServer, database_url: str
) -> None:
    talk = await app.conversations.open()
    numbers = await say(talk, "first")
    redis.stop()
    for _ in range(2):
        at_once = await asyncio.gather(*(talk.append(SAY, words(str(n))) for n in range(16)))
        numbers += [event.seq for event in at_once]
        if lane(admin, talk) == "postgres":
            redis.start()
            numbers += await back_on_redis(admin, talk)
    assert lane(admin, talk) == "redis"
    await app.work(until_idle=True)
    audit_idle(database_url)
    assert sorted(numbers) == list(range(len(numbers)))


async def test_no_event_is_delivered_before_it_is_recorded(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    seen = 0
    writing = asyncio.gather(*(talk.append(SAY, words(str(n))) for n in range(20)))
    async for event in talk.follow():
        assert isinstance(event, Event)
        row = admin.execute(
            "select event_id from foja.event where entity_id = %s and seq = %s", (talk.id, event.seq)
        )
        assert row.fetchall() == [(event.id,)]
        seen += 1
        if seen == 20:
            break
    assert sorted(event.seq for event in await writing) == list(range(20))


async def test_a_failed_append_is_a_typed_error_and_a_voided_number(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append(SAY, words("a"), idempotency_key="k")
    with pytest.raises(Refused, match="it is event 0"):
        await talk.append(SAY, words("another"), idempotency_key="k")
    assert await say(talk, "b") == [2]
    assert [event.kind for event in await talk.events()] == [SAY, "slot.voided", SAY]


async def test_a_lost_answer_does_not_cost_a_number_or_a_move(
    open_app: Callable[..., App], database_url: str, redis: RedisServer, admin: Admin
) -> None:
    settings = {"redis_url": redis.url, "redis_timeout_seconds": 10.0}
    async with wired(database_url) as wire, open_app(database_url=wire.url, **settings) as app:
        talk = await app.conversations.open()
        await say(talk, "a")
        [before] = admin.execute("select fence from foja.entity").fetchall()
        wire.cut("lane_append", "after")
        assert await say(talk, "b", "c") == [1, 2]
        assert wire.cuts == 1
        assert admin.execute("select fence from foja.entity").fetchall() == [before]
