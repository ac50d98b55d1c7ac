"""The seed's names on a conversation that Redis numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from foja.app import App
from tests.database.schema.rows import SAID, Admin, check_stream
from tests.database.schema.seed import (
    APPEND,
    FALLBACK,
    SESSION,
    as_owner,
    holding,
    insert,
    messages,
    next_seq,
    opened,
    refusal,
    reserve,
)
from tests.redis_server import RedisServer


def lane(admin: Admin) -> str:
    row = as_owner(admin).execute("select lane from foja.entity where entity_id = %s", [SESSION]).fetchone()
    admin.execute("set role service_role")
    return row[0] if row else "none"


async def test_sql_and_redis_take_turns_and_agree_on_the_next_number(
    open_app: Callable[..., App], redis: RedisServer, admin: Admin
) -> None:
    async with open_app(redis_url=redis.url) as app:
        talk = await opened(app)
        for n in range(5):
            assert (await talk.append("thinking", {"content": str(n)})).seq == n
        slots = await talk.reserve(2, ttl=60)
        assert (lane(admin), next_seq(admin)) == ("redis", 7)
        with holding(admin, slots.token):
            assert insert(admin, "filled", 5).sequence_number == 5
        assert (lane(admin), next_seq(admin)) == ("redis", 7), "a fill never moves the lane"
        assert "is reserved" in refusal(insert, admin, "mine", 6)[1]
        assert "the next number is 7, not 8" in refusal(insert, admin, "no", 8)[1]
        assert insert(admin, "from SQL", next_seq(admin)).sequence_number == 7
        assert (lane(admin), next_seq(admin)) == ("postgres", 8)
        assert (await talk.append("thinking", SAID)).seq == 8
        assert reserve(admin, 2)[0] == [9, 10]
        await slots.void(1, reason="not needed")
        assert [row.event_type for row in messages(admin)][-4:] == [
            "user_message_sent", "thinking", "slot.open", "slot.open"
        ]  # fmt: skip


async def test_an_insert_with_an_id_replays_on_both_lanes(
    open_app: Callable[..., App], redis: RedisServer, admin: Admin
) -> None:
    admin.execute("set role service_role")
    async with open_app(redis_url=redis.url) as app:
        talk = await opened(app)
        await talk.append("thinking", SAID)
        assert lane(admin) == "redis"
        event_id = uuid4()
        first = insert(admin, "hi", event_id=event_id)
        assert (first.id, first.sequence_number) == (event_id, 1)
        assert insert(admin, "hi", event_id=event_id) == first


async def test_sql_writers_among_lane_writers_leave_no_gap(
    open_app: Callable[..., App], redis: RedisServer, admin: Admin, database_url: str
) -> None:
    async def from_sql(*, asking: bool) -> None:
        async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
            await conn.execute("set role service_role")
            for n in range(10):
                while not await once(conn, n, asking=asking):
                    await asyncio.sleep(0)

    async def once(conn: AsyncConnection[Any], n: int, *, asking: bool) -> bool:
        row = await (await conn.execute(FALLBACK, {"session_id": SESSION})).fetchone()
        values = {
            "id": None, "session_id": SESSION, "event_type": "thinking", "data": Jsonb({"content": str(n)}),
            "sequence_number": row[0] if asking and row else None,
        }  # fmt: skip
        try:
            await conn.execute(APPEND, values)
        except psycopg.Error as error:
            assert asking, error  # noqa: PT017
            assert str(error).startswith("wrong_expected_seq"), error  # noqa: PT017
            return False
        return True

    async with open_app(redis_url=redis.url) as app:
        talk = await opened(app)
        await talk.append("thinking", SAID)
        lanes = [talk.append("thinking", {"content": str(n)}) for n in range(60)]
        await asyncio.gather(*lanes, *(from_sql(asking=n % 2 == 0) for n in range(4)))
        await app.work(until_idle=True)
        voided = [row for row in messages(admin) if row.event_type == "slot.voided"]
        check_stream(admin, talk, 101 + len(voided))


def test_a_decision_in_a_reserved_number_has_the_id_of_every_decision(admin: Admin) -> None:
    admin.execute("set role service_role")
    decision = {"approval_id": "a", "decision": "denied", "reason": None}
    _, token = reserve(admin, 1)
    with holding(admin, token):
        first = insert(admin, decision, 0, kind="approval_completed")
    assert insert(admin, decision, kind="approval_completed") == first
    with pytest.raises(psycopg.Error, match="idempotency_conflict"):
        insert(admin, {**decision, "decision": "approved"}, kind="approval_completed")
