"""Many callers of the seed's own statements at once: unique, gapless, or told to try again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection, IsolationLevel
from psycopg.types.json import Jsonb

from foja.app import App
from tests.database.schema.rows import SAID, Admin, check_stream
from tests.database.schema.seed import APPEND, FALLBACK, MERGE, SESSION, holding, insert, messages, opened


async def in_parallel(url: str, callers: int, work: Callable[[AsyncConnection[Any]], Any]) -> list[Any]:
    async def call() -> Any:
        async with await AsyncConnection.connect(url, autocommit=True) as conn:
            await conn.execute("set role service_role")
            return await work(conn)

    return list(await asyncio.gather(*(call() for _ in range(callers))))


async def test_the_seeds_merge_counts_without_gap_or_duplicate(admin: Admin, database_url: str) -> None:
    admin.execute("create table seed_counters (session_id uuid primary key, next_number int not null)")
    admin.execute("grant all on seed_counters to service_role")

    async def count(conn: AsyncConnection[Any]) -> list[int]:
        found = [await (await conn.execute(MERGE, {"session_id": SESSION})).fetchone() for _ in range(25)]
        return [row[0] for row in found if row]

    given = await in_parallel(database_url, 16, count)
    assert sorted(number for mine in given for number in mine) == list(range(1, 401))
    assert all(mine == sorted(mine) for mine in given)


async def test_the_seeds_fallback_races_and_nobody_collides(
    app: App, admin: Admin, database_url: str
) -> None:
    """Ask for MAX + 1, insert with it: whoever was overtaken is told so, and asks again."""

    async def race(conn: AsyncConnection[Any]) -> int:
        lost = 0
        for _ in range(5):
            while True:
                row = await (await conn.execute(FALLBACK, {"session_id": SESSION})).fetchone()
                assert row is not None
                values = {
                    "id": None, "session_id": SESSION, "event_type": "thinking",
                    "sequence_number": row[0], "data": Jsonb({"content": str(row[0])}),
                }  # fmt: skip
                try:
                    await conn.execute(APPEND, values)
                    break
                except psycopg.Error as error:
                    assert str(error).startswith("wrong_expected_seq"), error  # noqa: PT017
                    lost += 1
        return lost

    lost = await in_parallel(database_url, 16, race)
    assert sum(lost) > 0
    found = messages(admin)
    assert [row.data["content"] for row in found] == [str(n) for n in range(80)]
    check_stream(admin, await opened(app), 80)


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
async def test_strict_writers_succeed_or_retry(
    app: App, admin: Admin, database_url: str, level: IsolationLevel
) -> None:
    async def write(conn: AsyncConnection[Any]) -> int:
        await conn.set_isolation_level(level)
        retries, done = 0, 0
        event_id = uuid4()
        while done < 8:
            values = {
                "id": event_id, "session_id": SESSION, "event_type": "thinking", "sequence_number": None,
                "data": Jsonb({"content": str(event_id)}),
            }  # fmt: skip
            try:
                async with conn.transaction():
                    await conn.execute(FALLBACK, {"session_id": SESSION})
                    await conn.execute(APPEND, values)
            except psycopg.Error as error:
                assert error.sqlstate == "40001", error  # noqa: PT017
                retries += 1
            else:
                done, event_id = done + 1, uuid4()
        return retries

    talk = await opened(app)
    plain = [talk.append("thinking", {"content": str(n)}) for n in range(40)]
    await asyncio.gather(in_parallel(database_url, 5, write), *plain)
    check_stream(admin, talk, 80)


async def test_a_strict_fill_overtaken_is_told_to_retry(app: App, admin: Admin) -> None:
    talk = await opened(app)
    slots = await talk.reserve(1, ttl=60)
    admin.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    with pytest.raises(psycopg.errors.SerializationFailure), holding(admin, slots.token):  # noqa: PT012
        messages(admin)
        await slots.fill(0, "thinking", SAID)
        insert(admin, "another", 0)
    with pytest.raises(psycopg.Error, match="idempotency_conflict"), holding(admin, slots.token):
        insert(admin, "another", 0)
