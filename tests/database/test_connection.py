"""Long results are read as fast as they arrive, and other tasks keep running."""

from __future__ import annotations

import asyncio
import socket
from typing import LiteralString

import pytest
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

from foja.driver.connection import MAX_READS, _read_eagerly
from foja.driver.database import Database
from foja.errors import FojaError

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


async def test_a_server_that_stops_during_a_result_is_an_error(database: Database) -> None:
    query: LiteralString = "select pg_terminate_backend(pg_backend_pid()), * from generate_series(1, 100000)"
    with pytest.raises(FojaError):
        await database.many(query)
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
        assert waits(_read_eagerly(reading(10), here.fileno())) == 10
        there.send(b"x")
        assert waits(_read_eagerly(reading(10), here.fileno())) == 1
        assert waits(_read_eagerly(reading(2 * MAX_READS + 3), here.fileno())) == 3, "other tasks must run"
