"""The tenant of a transaction ends with it: after a failure, a cancellation, a lost connection, a reuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable

import psycopg
import pytest

from foja.app import App
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.driver.pipeline import Pipeline
from foja.engine.driver.tenant_statement import MAX_PREPARED, positional
from foja.engine.ledger.receipts import draft_record, read_receipt
from foja.errors import BadPayload, FojaError, LedgerUnavailable
from tests.database.schema.rows import Admin

TENANT = "select current_setting('foja.tenant', true)"
SAY = "user_message_sent"


@pytest.fixture
async def one(app: App) -> AsyncIterator[Database]:
    """One connection as the role of requests: whatever leaks, the next statement sees it."""
    database = Database(app.settings.database_url, "foja_api", 1)
    yield database
    await database.close()


async def acts_for(database: Database) -> str | None:
    """Return the tenant of a statement that names none."""
    [(tenant,)] = await database.rows(TENANT)
    return tenant or None


async def test_a_statement_acts_for_its_tenant_and_the_next_for_none(one: Database) -> None:
    assert await one.of("ana").rows(TENANT) == [("ana",)]
    assert await acts_for(one) is None
    assert await one.of("bob").many(TENANT) == [("bob",)]
    assert await acts_for(one) is None


async def test_values_rows_and_errors_are_as_without_a_tenant(one: Database) -> None:
    query = "select %(n)s + 1, %(t)s::text, %(a)s::bigint[], %(n)s, '%%', %(b)b::bytea"
    values = {"n": 1, "t": "ñ", "a": [1, None], "b": b"\0x"}
    for many in (False, True):
        for each in (one, one.of("ana")):
            found = await (each.many if many else each.rows)(query, **values)
            assert found == [(2, "ñ", [1, None], 1, "%", b"\0x")]
    assert await one.of("ana").rows("select 1 where false") == []
    with pytest.raises(BadPayload):
        await one.of("ana").rows("select %(text)s::uuid", text="not one")


async def test_a_group_that_is_aborted_midway_leaves_no_tenant(one: Database) -> None:
    """The tenant is set, then the statement fails: the server aborts the group and ends its transaction."""
    for _ in range(3):
        with pytest.raises(FojaError):
            await one.of("ana").rows("select 1 / %(zero)s", zero=0)
        assert await acts_for(one) is None
        assert await one.of("bob").rows(TENANT) == [("bob",)]


async def test_a_statement_that_cannot_be_prepared_leaves_no_tenant(one: Database) -> None:
    for _ in range(3):
        with pytest.raises(FojaError):
            await one.of("ana").rows("select nothing from nowhere")
        assert await acts_for(one) is None
    assert await one.of("bob").rows("select 1") == [(1,)]


async def test_a_cancelled_task_leaves_no_tenant(one: Database) -> None:
    for turns in range(8):  # of the event loop, before it is cancelled
        task = asyncio.create_task(one.of("ana").rows("select pg_sleep(60)"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(30):
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await acts_for(one) is None
            assert await one.of("bob").rows(TENANT) == [("bob",)]


async def test_a_statement_cancelled_while_it_runs_leaves_no_tenant(one: Database, admin: Admin) -> None:
    task = asyncio.create_task(one.of("ana").rows("select pg_sleep(60)"))
    running = (
        "select count(*) from pg_stat_activity where query like 'select pg_sleep(%%' and state = 'active'"
    )
    async with asyncio.timeout(30):
        while admin.execute(running.encode()).fetchone() == (0,):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await acts_for(one) is None
        assert await one.of("bob").rows(TENANT) == [("bob",)]


async def test_a_connection_that_is_lost_midway_is_not_used_again(one: Database, admin: Admin) -> None:
    [(pid,)] = await one.rows("select pg_backend_pid()")
    task = asyncio.create_task(one.of("ana").rows("select pg_sleep(60)"))
    running = "select count(*) from pg_stat_activity where pid = %s and query like 'select pg_sleep(%%'"
    async with asyncio.timeout(30):
        while admin.execute(running.encode(), [pid]).fetchone() == (0,):
            await asyncio.sleep(0.01)
        admin.execute("select pg_terminate_backend(%s)", [pid])
        with pytest.raises(LedgerUnavailable):
            await task
        assert await acts_for(one) is None
        [(other,)] = await one.of("bob").rows("select pg_backend_pid()")
    assert other != pid


async def test_more_statements_than_are_prepared_run_too(one: Database) -> None:
    for number in range(MAX_PREPARED + 20):
        assert await one.of("ana").rows(f"select {number}, current_setting('foja.tenant')") == [
            (number, "ana")
        ]
    [(prepared,)] = await one.rows("select count(*) from pg_prepared_statements where name like 'foja_%%'")
    assert prepared <= MAX_PREPARED + 1


def test_names_become_numbers() -> None:
    statement, names, _ = positional("select %(a)s, %(b)b, %(a)s, '%%'")
    assert (statement, names) == (b"select $1, $2, $1, '%'", ("a", "b"))


async def test_a_pipeline_acts_for_each_tenant_in_turn(app: App) -> None:
    """Requests of two tenants that wait on one connection at the same time, some of which fail."""
    talks = {name: await app.tenant(name).conversations.open() for name in ("ana", "bob")}
    pipeline = await Pipeline.open(app.settings.database_url, "foja_api", "append", "recognise")

    def ask(of: str, tenant: str) -> Awaitable[bytes]:
        draft = talks[of].draft(SAY, {"content": tenant})
        return pipeline.ask("append", [draft_record(draft)], tenant)

    try:
        good = [ask(name, name) for name in ("ana", "bob") * 20]
        failing = [ask("ana", tenant) for tenant in ("bob", "eve") * 5]
        answers = await asyncio.gather(*good, *failing, return_exceptions=True)
        assert [read_receipt(each)[2] for each in answers[:40] if isinstance(each, bytes)] == [
            number for number in range(20) for _ in range(2)
        ]
        assert all(isinstance(each, FojaError) for each in answers[40:])
        assert await pipeline.ask("recognise", [])
    finally:
        pipeline.drop()
    for name, talk in talks.items():
        assert [event.payload["content"] for event in await talk.events()] == [name] * 20


async def test_a_failed_request_of_a_pipeline_leaves_no_tenant(app: App, database_url: str) -> None:
    """The role of requests finds nothing without a tenant, so a leak would show as a row."""
    talk = await app.tenant("ana").conversations.open()
    await talk.append(SAY, {"content": "x"})
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role foja_api")
        with conn.pipeline():
            conn.execute("select set_config('foja.tenant', 'ana', true)")
            cursor = conn.execute("select 1 / 0")
            with pytest.raises(psycopg.Error):
                cursor.fetchall()
        assert conn.execute("select count(*) from foja.event").fetchone() == (0,)
        with conn.pipeline():
            conn.execute("select set_config('foja.tenant', 'ana', true)")
            assert conn.execute("select count(*) from foja.event").fetchone() == (1,)
        assert conn.execute("select count(*) from foja.event").fetchone() == (0,)


async def test_the_queries_of_the_ledger_read_nothing_without_a_tenant(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append(SAY, {"content": "x"})
    values = {"entity": talk.id, "tenant": "default", "after": -1, "limit": 10}
    assert await app.database.rows(sql.query("read_tail"), **values) == []
    assert len(await app.database.of("default").rows(sql.query("read_tail"), **values)) == 1
