"""Long results are read as fast as they arrive, and other tasks keep running."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, LiteralString

import pytest
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

from foja.engine.driver.connection import MAX_READS, _read_eagerly
from foja.engine.driver.database import Database
from foja.engine.driver.garbage import MANY
from foja.errors import FojaError, LedgerUnavailable

ROWS = 40_000
LONG: LiteralString = "select n, repeat('x', 200) from generate_series(1, %(rows)s) n"


@pytest.fixture
async def database(database_url: str) -> Database:
    return Database(database_url, "foja_api", 2)


@pytest.mark.parametrize("method", ["rows", "many"])
async def test_a_long_result_is_complete_and_other_tasks_run(database: Database, method: str) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    rows = await getattr(database, method)(LONG, rows=ROWS)
    task.cancel()
    assert [row[0] for row in rows] == list(range(1, ROWS + 1))
    assert turns > 5
    await database.close()


async def test_after_a_cancelled_read_the_connection_is_reused(
    database: Database,
) -> None:
    reading = asyncio.create_task(database.many(LONG, rows=50 * ROWS))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await database.row("select 1") == (1,)
    await database.close()


async def test_rows_for_a_tenant_are_made_while_they_arrive(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complete and in order, whether the number of rows fills the last chunk or not, or there are none."""
    for chunked in (True, False):
        monkeypatch.setattr("foja.engine.driver.tenant_statement.CHUNKED", chunked)
        for rows in (0, 1, MANY - 1, MANY, MANY + 1, 3 * MANY, ROWS):
            found = await database.of("ana").many(LONG, rows=rows)
            assert [row[0] for row in found] == list(range(1, rows + 1))
            assert all(row[1] == "x" * 200 for row in found)
    await database.close()


async def test_an_error_after_many_rows_leaves_a_usable_connection(database_url: str) -> None:
    """The server fails after a few chunks, or a row cannot be made; the next statement has its own answer."""
    database = Database(database_url, "foja_api", 1)
    ana = database.of("ana")
    failing: LiteralString = "select 1 / (%(rows)s - n) from generate_series(1, %(rows)s) n"

    def make(row: Sequence[Any]) -> int:
        if row[0] == 2 * MANY:
            raise ZeroDivisionError
        return int(row[0])

    for _ in range(2):
        with pytest.raises(FojaError, match="division by zero"):
            await ana.many(failing, rows=3 * MANY)
        assert await ana.many("select 1") == [(1,)]
        with pytest.raises(ZeroDivisionError):
            await ana.made(make, LONG, rows=ROWS)
        assert await ana.many(LONG, rows=2) == [(1, "x" * 200), (2, "x" * 200)]
    await database.close()


async def test_after_a_cancelled_read_for_a_tenant_the_next_read_is_its_own(database: Database) -> None:
    ana = database.of("ana")
    for pause in (0, 0.01, 0.05):
        reading = asyncio.create_task(ana.many(LONG, rows=50 * ROWS))
        await asyncio.sleep(pause)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await ana.many(LONG, rows=1) == [(1, "x" * 200)]
    await database.close()


async def test_a_server_that_stops_during_a_result_is_an_error(database: Database) -> None:
    query: LiteralString = "select pg_terminate_backend(pg_backend_pid()), * from generate_series(1, 100000)"
    with pytest.raises(FojaError):
        await database.many(query)
    with pytest.raises(FojaError):
        await database.of("ana").many(query)
    await database.close()


def reading(parts: int) -> PQGen[str]:
    """Read `parts` parts, as psycopg does, and return "whole"."""
    for _ in range(parts):
        assert (yield Wait.R) == Ready.R
    return "whole"


def waits(gen: PQGen[str]) -> int:
    """Return how often a generator returns to the event loop."""
    next(gen)
    for count in range(1, 1_000):
        try:
            gen.send(Ready.R)
        except StopIteration as end:
            return count if end.value == "whole" else 0
    raise AssertionError("it never ends")


def test_available_input_is_read_without_waiting() -> None:
    here, there = socket.socketpair()
    with here, there:
        assert waits(_read_eagerly(reading(10), here.fileno(), None)) == 10
        there.send(b"x")
        assert waits(_read_eagerly(reading(10), here.fileno(), None)) == 1
        assert waits(_read_eagerly(reading(2 * MAX_READS + 3), here.fileno(), None)) == 3, (
            "other tasks must run"
        )


async def test_a_query_that_is_cancelled_twice_is_quiet(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """`work.cancel()` printed "query cancellation interrupted (CancelledError): closing connection"."""
    for _ in range(3):
        task = asyncio.ensure_future(database.rows("select pg_sleep(30)"))
        await asyncio.sleep(0.1)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
    assert [each.getMessage() for each in caplog.records if each.name.startswith("psycopg")] == []
    assert await database.rows("select 1")
    await database.close()


async def test_only_silence_ends_an_answer(database_url: str) -> None:
    """A page of many rows was cut off after the limit of an answer, while its rows arrived."""
    database = Database(database_url, "foja_api", 1, answer_seconds=0.5)  # a statement has twice as long
    slow: LiteralString = (
        "select repeat('x', 20000) from generate_series(1, 15), lateral (select pg_sleep(0.2)) s"
    )
    assert len(await database.rows(slow)) == 15
    with pytest.raises(LedgerUnavailable, match="no answer within 1 s"):
        await database.rows("select pg_sleep(60)")
    await database.close()
