"""Long answers are read as fast as they come, and nobody else has to wait for them."""

from __future__ import annotations

import asyncio
import socket
from typing import LiteralString

import pytest
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

from foja.driver.connection import MAX_READS, _eagerly
from foja.driver.database import Database
from foja.errors import FojaError

ROWS = 40_000
LONG: LiteralString = "select n, repeat('x', 200) from generate_series(1, %(rows)s) n"


@pytest.fixture
async def database(database_url: str) -> Database:
    return Database(database_url, "foja_api", 2)


@pytest.mark.parametrize("reading", ["rows", "many"])
async def test_a_long_answer_comes_whole_and_leaves_others_their_turn(
    database: Database, reading: str
) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.create_task(other())
    rows = await getattr(database, reading)(LONG, rows=ROWS)
    beside.cancel()
    assert [row[0] for row in rows] == list(range(1, ROWS + 1))
    assert turns > 5
    await database.close()


async def test_a_reader_who_is_told_to_stop_stops_and_its_connection_serves_the_next(
    database: Database,
) -> None:
    reading = asyncio.create_task(database.many(LONG, rows=50 * ROWS))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await database.row("select 1") == (1,)
    await database.close()


async def test_a_server_that_goes_away_in_the_middle_is_an_error(database: Database) -> None:
    hurt: LiteralString = "select pg_terminate_backend(pg_backend_pid()), * from generate_series(1, 100000)"
    with pytest.raises(FojaError):
        await database.many(hurt)
    await database.close()


def reading(parts: int) -> PQGen[str]:
    """Read so many parts, as psycopg does, and return the whole."""
    for _ in range(parts):
        assert (yield Wait.R) == Ready.R
    return "whole"


def waits(gen: PQGen[str]) -> int:
    """Return how often a reading goes back to the loop."""
    next(gen)
    for count in range(1, 1_000):
        try:
            gen.send(Ready.R)
        except StopIteration as end:
            return count if end.value == "whole" else 0
    raise AssertionError("it never ends")


def test_what_is_there_is_read_at_once_and_what_is_not_is_waited_for() -> None:
    here, there = socket.socketpair()
    with here, there:
        assert waits(_eagerly(reading(10), here.fileno())) == 10
        there.send(b"x")
        assert waits(_eagerly(reading(10), here.fileno())) == 1
        assert waits(_eagerly(reading(2 * MAX_READS + 3), here.fileno())) == 3, "others have their turn"
