"""Callers in stricter transactions: a retryable error or success, never a duplicate, never a gap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import AsyncConnection, IsolationLevel
from psycopg.types.json import Jsonb

from foja.app import App
from foja.domains.conversations.service import Conversation
from tests.database.schema.rows import SAID, Admin, check_stream, identity
from tests.drafts import BATCH, columns

Strict = AsyncConnection[tuple[Any, ...]]

SERIALIZATION_FAILURE = "40001"
STRICT = [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE]
levels = pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name.lower().replace("_", " "))

APPEND: LiteralString = """select seq, event_id, at, body_hash from foja.append_event(
    %(entity)s, 'conversation', 'thinking', %(payload)s, idempotency_key => %(key)s)"""


async def strict_connection(url: str, level: IsolationLevel) -> Strict:
    conn = await AsyncConnection.connect(url, autocommit=True)
    await conn.execute("set role foja_api; set foja.tenant = 'default'")
    await conn.set_isolation_level(level)
    return conn


async def append(
    conn: Strict, entity: UUID, key: str | None, payload: dict[str, Any] = SAID
) -> tuple[Any, ...]:
    values = {"entity": entity, "payload": Jsonb(payload), "key": key}
    row = await (await conn.execute(APPEND, values)).fetchone()
    assert row is not None
    return row


async def overtaken(conn: Strict, meanwhile: Awaitable[Any], attempt: Awaitable[Any]) -> str | None:
    """Take a snapshot, let something else happen, try; return the SQLSTATE it failed with."""
    try:
        async with conn.transaction():
            await conn.execute("select count(*) from foja.entity")
            await meanwhile
            await attempt
    except psycopg.Error as error:
        return error.sqlstate
    return None


async def persist(url: str, level: IsolationLevel, entity: UUID, keys: list[str]) -> int:
    """Append once per key in a transaction that first reads the stream; return how often it had to retry."""
    retries = 0
    async with await strict_connection(url, level) as conn:
        for key in keys:
            while True:
                try:
                    async with conn.transaction():
                        await conn.execute("select count(*) from foja.event where entity_id = %s", [entity])
                        await append(conn, entity, key, {"content": key})
                    break
                except psycopg.Error as error:
                    assert error.sqlstate == SERIALIZATION_FAILURE, error  # noqa: PT017
                    retries += 1
                    await asyncio.sleep(0)
    return retries


async def stream(app: App) -> Conversation:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    return talk


@levels
async def test_many_strict_writers_leave_no_gap_and_no_duplicate(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await app.conversations.open()
    url = app.settings.database_url
    strict = [persist(url, level, talk.id, [f"{n}-{k}" for k in range(10)]) for n in range(4)]
    plain = [talk.append("thinking", {"content": str(n)}) for n in range(40)]
    await asyncio.gather(*strict, *plain)
    check_stream(admin, talk, 80)
    row = admin.execute("select count(distinct idempotency_key) from foja.event").fetchone()
    assert row == (40,)


@levels
async def test_one_key_from_many_strict_writers_is_one_event(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await app.conversations.open()
    url = app.settings.database_url
    await asyncio.gather(*[persist(url, level, talk.id, ["a", "b", "c"]) for _ in range(5)])
    check_stream(admin, talk, 3)


@levels
async def test_a_snapshot_older_than_the_last_append_is_told_to_retry(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await stream(app)
    async with await strict_connection(app.settings.database_url, level) as conn:
        between = talk.append("thinking", {"content": "in between"})
        assert await overtaken(conn, between, append(conn, talk.id, "k")) == SERIALIZATION_FAILURE
        assert (await append(conn, talk.id, "k"))[0] == 2
    check_stream(admin, talk, 3)


@levels
async def test_a_snapshot_older_than_the_stream_is_told_to_retry(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await app.conversations.open()
    async with await strict_connection(app.settings.database_url, level) as conn:
        between = talk.append("thinking", {"content": "in between"})
        assert await overtaken(conn, between, append(conn, talk.id, None)) == SERIALIZATION_FAILURE
    check_stream(admin, talk, 1)


@levels
async def test_a_snapshot_older_than_the_same_key_is_told_to_retry_and_then_replays(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await stream(app)
    async with await strict_connection(app.settings.database_url, level) as conn:
        between = talk.append("thinking", SAID, idempotency_key="k")
        assert await overtaken(conn, between, append(conn, talk.id, "k")) == SERIALIZATION_FAILURE
        first = (await talk.events())[1]
        assert await append(conn, talk.id, "k") == identity(first)[:4]
    check_stream(admin, talk, 2)


@levels
async def test_a_snapshot_older_than_a_fill_is_told_to_retry(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    """A fill leaves the stream's row as it is: the key, or the slot, must give it away."""
    talk = await stream(app)
    slots = await talk.reserve(2, ttl=60)
    async with await strict_connection(app.settings.database_url, level) as conn:
        between = slots.fill(0, "thinking", SAID, idempotency_key="k")
        assert await overtaken(conn, between, append(conn, talk.id, "k")) == SERIALIZATION_FAILURE
        assert await append(conn, talk.id, "k") == identity((await talk.events())[1])[:4]
        void = conn.execute(
            "select foja.void(%s, 'conversation', 'default', %s, %s, 'api', 'late')",
            [talk.id, slots.seqs[1], slots.token],
        )
        assert await overtaken(conn, slots.fill(1, "thinking", SAID), void) == SERIALIZATION_FAILURE
    await app.work(until_idle=True)
    check_stream(admin, talk, 3)


@levels
async def test_a_batch_overtaken_by_a_fill_is_told_to_retry(
    app: App, admin: Admin, level: IsolationLevel
) -> None:
    talk = await stream(app)
    slots = await talk.reserve(1, ttl=60)
    drafts = [talk.draft("thinking", SAID, idempotency_key="k"), talk.draft("thinking", SAID)]
    batch: LiteralString = f"select seq from foja.append_drafts({BATCH}, true, true)"
    values = columns(drafts)
    async with await strict_connection(app.settings.database_url, level) as conn:
        between = slots.fill(0, "thinking", SAID, idempotency_key="k")
        assert await overtaken(conn, between, conn.execute(batch, values)) == SERIALIZATION_FAILURE
        assert await (await conn.execute(batch, values)).fetchall() == [([1, 2],)]
    await app.work(until_idle=True)
    check_stream(admin, talk, 3)


@levels
async def test_a_caller_alone_needs_no_retry(app: App, admin: Admin, level: IsolationLevel) -> None:
    talk = await stream(app)
    new = uuid4()
    async with await strict_connection(app.settings.database_url, level) as conn, conn.transaction():
        assert (await append(conn, talk.id, "a"))[0] == 1
        assert (await append(conn, new, "a"))[0] == 0
        assert (await append(conn, talk.id, "b"))[0] == 2
        assert (await append(conn, talk.id, "a"))[0] == 1
    check_stream(admin, talk, 3)


@levels
async def test_two_strict_callers_cannot_both_be_next(app: App, admin: Admin, level: IsolationLevel) -> None:
    talk = await stream(app)
    url = app.settings.database_url
    async with await strict_connection(url, level) as one, await strict_connection(url, level) as two:
        refused = await overtaken(one, append(two, talk.id, None), append(one, talk.id, None))
        assert refused == SERIALIZATION_FAILURE
    check_stream(admin, talk, 2)
