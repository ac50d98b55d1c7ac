"""Pools of connections: no caller waits for ever, and no connection is lost."""

from __future__ import annotations

import asyncio

import pytest

from foja.app import App
from foja.engine.driver.connection import Connection
from foja.engine.driver.database import connect
from foja.engine.driver.pipeline import Pipeline
from foja.engine.driver.pipeline_pool import PipelinePool, PoolClosed
from foja.engine.driver.pool import Pool
from foja.errors import LedgerUnavailable, Refused
from tests.database.schema.rows import Admin
from tests.races.writers import SAY, words

SECONDS = 60  # what no caller may need, however busy the machine is


async def test_a_caller_cancelled_after_its_pipeline_opened_leaves_it_to_the_pool(app: App) -> None:
    """The pool closes it; before, it stayed open until the process ended."""
    made: list[Pipeline] = []

    async def make() -> Pipeline:
        made.append(await Pipeline.open(app.settings.database_url, "foja_api", "recognise"))
        asking.cancel()
        return made[-1]

    pool = PipelinePool(make, 1)
    asking = asyncio.create_task(pool.ask("recognise", []))
    await asyncio.gather(asking, return_exceptions=True)
    await pool.close()
    assert [pipeline.broken for pipeline in made] == [True]


@pytest.mark.parametrize("end", ["failed", "cancelled"])
async def test_callers_that_wait_for_a_pipeline_are_served_if_opening_it_failed(app: App, end: str) -> None:
    """Those that wait open one themselves, also if the caller that opened it was cancelled meanwhile."""
    tries, go = 0, asyncio.Event()

    async def make() -> Pipeline:
        nonlocal tries
        tries += 1
        if tries == 1:
            await go.wait()
            raise LedgerUnavailable("the database does not answer; try again")
        return await Pipeline.open(app.settings.database_url, "foja_api", "recognise")

    pool = PipelinePool(make, 1)
    first = asyncio.create_task(pool.ask("recognise", []))
    others = [asyncio.create_task(pool.ask("recognise", [])) for _ in range(8)]
    await asyncio.sleep(0)
    go.set() if end == "failed" else first.cancel()
    async with asyncio.timeout(SECONDS):
        answers = await asyncio.gather(*others)
        assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], BaseException)
    assert len(set(answers)) == 1
    assert tries == 2
    await pool.close()


async def test_closing_a_pool_refuses_every_caller_that_waits_for_a_pipeline() -> None:
    go = asyncio.Event()

    async def make() -> Pipeline:
        await go.wait()
        raise LedgerUnavailable("the database does not answer; try again")

    pool = PipelinePool(make, 1)
    calls = [asyncio.create_task(pool.ask("recognise", [])) for _ in range(4)]
    await asyncio.sleep(0)
    await pool.close()
    go.set()
    async with asyncio.timeout(SECONDS):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [LedgerUnavailable] + [PoolClosed] * 3


async def test_closing_a_pool_refuses_every_caller_that_waits_for_a_connection(app: App) -> None:
    """Before, only the first of them learned that the pool was closed."""

    async def make() -> Connection:
        return await connect(app.settings.database_url, "foja_api")

    pool = Pool(make, 1)
    connection = await pool.acquire()
    calls = [asyncio.create_task(pool.acquire()) for _ in range(4)]
    await asyncio.sleep(0)
    pool.close()
    async with asyncio.timeout(SECONDS):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [Refused] * 4
    pool.release(connection)


async def test_the_first_read_succeeds_after_the_server_closed_every_idle_connection(
    app: App, admin: Admin
) -> None:
    """After a failover the first read failed: it was given a connection that was closed long ago."""
    talk = await app.conversations.open()
    await talk.append(SAY, words("x"))
    assert await asyncio.gather(*(talk.events() for _ in range(3)))
    admin.execute("""select pg_terminate_backend(pid, 60000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()""")
    assert len(await talk.events()) == 1
