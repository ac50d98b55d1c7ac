"""Who may use the seed's names: deny by default, a tenant sees its own, the ledger asks who acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from foja.app import App
from tests.database.schema.rows import SAID, Admin
from tests.database.schema.seed import DENIED, insert

CALLS: list[LiteralString] = [
    "select * from message_events",
    "select * from sequence_counters",
    """insert into message_events (session_id, event_type, data)
        values (gen_random_uuid(), 'thinking', '{"content": "x"}')""",
    "select reserve_sequence_batch(gen_random_uuid(), 2)",
    """select foja.fill_event(gen_random_uuid(), 'conversation', 0, gen_random_uuid(), 'thinking',
        '{"content": "x"}')""",
    "update sequence_counters set next_number = 0",
    "delete from sequence_counters",
    "update message_events set data = null",
    "delete from message_events",
]
READS, WRITES, UNKNOWN_SLOT = [None, None], [None, None], [None]
NEVER = [DENIED] * 4


@pytest.mark.parametrize(
    ("role", "verdicts"),
    [
        ("anon", [DENIED] * 9),
        ("authenticated", [*READS, DENIED, DENIED, DENIED, *NEVER]),
        ("foja_sweeper", [*READS, DENIED, DENIED, DENIED, *NEVER]),
        ("service_role", [*READS, *WRITES, *UNKNOWN_SLOT, *NEVER]),
        ("foja_api", [*READS, *WRITES, *UNKNOWN_SLOT, *NEVER]),
    ],
)
def test_each_role_may_do_what_it_was_granted(role: str, verdicts: Sequence[str], admin: Admin) -> None:
    insert(admin, "there")
    admin.execute(sql.SQL("set role {}; set foja.tenant = 'default'").format(sql.Identifier(role)))
    found: list[str | None] = []
    for call in CALLS:
        try:
            with admin.transaction(force_rollback=True):
                admin.execute(call)
        except psycopg.Error as error:
            found.append(error.sqlstate)
        else:
            found.append(None)
    assert dict(zip(CALLS, found, strict=True)) == dict(zip(CALLS, verdicts, strict=True))


def test_a_login_that_may_insert_is_still_not_the_api(admin: Admin) -> None:
    """A grant on the view is not enough: the ledger asks for the role that acts."""
    name = sql.Identifier(f"visitor_{uuid4().hex[:8]}")
    with admin.transaction(force_rollback=True):
        admin.execute(sql.SQL("create role {}").format(name))
        admin.execute(sql.SQL("grant insert, select on message_events to {}").format(name))
        admin.execute(sql.SQL("set local role {}; set local foja.tenant = 'default'").format(name))
        with pytest.raises(psycopg.Error, match="wrong_source"):
            insert(admin, "mine")


def test_nobody_may_call_what_was_not_granted(admin: Admin) -> None:
    found = admin.execute(
        """select proname, proconfig from pg_proc
            where pronamespace in ('foja'::regnamespace, 'public'::regnamespace)
                and proname in ('reserve_sequence_batch', 'fill_event', 'insert_message', 'is_given')
                and not has_function_privilege('anon', oid, 'execute')
                and not has_function_privilege('authenticated', oid, 'execute')"""
    ).fetchall()
    assert len(found) == 4
    pinned = [config for name, config in found if name != "is_given"]
    assert pinned == [["search_path=pg_catalog, pg_temp"]] * 3


async def test_each_tenant_reads_its_own(open_app: Callable[..., App], admin: Admin) -> None:
    sessions = {}
    for tenant in ("red", "blue"):
        async with open_app(tenant=tenant) as app:
            talk = await app.conversations.open()
            await talk.append("thinking", SAID)
            await talk.reserve(1, ttl=60)
            sessions[tenant] = talk.id
    admin.execute("set role authenticated")
    seen = "select session_id, event_type from message_events order by sequence_number"
    assert admin.execute(seen).fetchall() == []
    for tenant, session in sessions.items():
        admin.execute("select set_config('foja.tenant', %s, false)", [tenant])
        assert admin.execute(seen).fetchall() == [(session, "thinking"), (session, "slot.open")]
        assert admin.execute("select * from sequence_counters").fetchall() == [(session, 2)]
