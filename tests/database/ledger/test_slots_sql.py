"""Reservations as SQL callers see them, and what they do to the durability of everything else."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from tests.database.schema.rows import Admin


def test_a_reservation_does_not_weaken_the_next_statement(admin: Admin) -> None:
    reserve = "select foja.reserve(%s, 'conversation', 'default', 'api', 1, '1 min', null)"
    entity = uuid4()
    admin.execute("set role foja_api; set foja.tenant = 'default'")
    admin.execute(reserve, [entity])
    assert admin.execute("show synchronous_commit").fetchone() == ("on",)


def test_a_reservation_does_not_weaken_the_transaction_it_is_part_of(admin: Admin) -> None:
    """An event whose commit was acknowledged is on disk, also if its transaction reserved numbers too."""
    entity = uuid4()
    admin.execute("set role foja_api; set foja.tenant = 'default'")
    with admin.transaction():
        admin.execute("select foja.reserve(%s, 'conversation', 'default', 'api', 1, '1 min', null)", [entity])
        admin.execute(
            "select foja.append_event(%s, 'conversation', 'thinking', '{\"content\": \"x\"}')", [entity]
        )
        assert admin.execute("show synchronous_commit").fetchone() == ("on",)


async def test_no_connection_is_left_weaker(app: App) -> None:
    talk = await app.conversations.open()
    await asyncio.gather(*[talk.reserve(1, ttl=60) for _ in range(20)])
    shown = [await app.database.row("show synchronous_commit") for _ in range(app.settings.connections)]
    assert set(shown) == {("on",)}


def test_sql_callers_may_reserve_too(admin: Admin) -> None:
    entity = uuid4()
    admin.execute("set role service_role")
    row = admin.execute(
        "select first_seq, token from foja.reserve(%s, 'conversation', 'default', 'api', 2, '1 min', %s)",
        [entity, ["1", '{"a":2}']],
    ).fetchone()
    assert row is not None
    assert row[0] == 0
    with pytest.raises(psycopg.Error, match="bad_reservation"):
        admin.execute(
            "select foja.reserve(%s, 'conversation', 'default', 'api', 257, '1 min', null)", [entity]
        )
