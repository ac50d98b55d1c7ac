"""A writer killed with -9 and a server stopped in the middle: what was told is there, once and whole."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import foja
from foja.engine.embedded.postgres import PostgresServer, start, stop
from tests.faults.load import Diary, Order, begin, read_diary
from tests.races.auditor import Books, audit, audit_idle
from tests.races.writers import SAY, streams, words

ROUNDS, LONG = 2, 10
ENOUGH = 60


class Home:
    """A durable server of our own, and everything its writers were ever told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = start(folder)
        self.round = 0
        self.diaries: list[Path] = []

    def restart(self) -> None:
        """Stop PostgreSQL as a power cut would, and start it again."""
        stop(self.server, mode="immediate")
        self.server = start(self.folder)

    def order(self) -> Order:
        """Return the order for the next writer, on streams of its own."""
        self.round += 1
        self.diaries.append(self.folder / f"diary-{self.round}")
        label = str(self.round)
        return Order(self.server.url, self.folder, self.diaries[-1], streams(3), label)


@pytest.fixture
def home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        home = Home(Path(folder))
        yield home
        stop(home.folder, mode="immediate")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def told(path: Path) -> int:
    return len(read_diary(path).told)


def kill_the_writer(home: Home) -> None:
    order = home.order()
    writer = begin(order)
    wait_for(lambda: told(order.diary) > ENOUGH)
    time.sleep(random.uniform(0, 0.2))
    writer.kill()
    writer.join()
    wait_for(lambda: backends(home.server) == 0)


def stop_the_server(home: Home) -> None:
    """The writer lives through it, and goes on by itself."""
    order = home.order()
    writer = begin(order)
    wait_for(lambda: told(order.diary) > ENOUGH)
    time.sleep(random.uniform(0, 0.2))
    home.restart()
    again = told(order.diary)
    wait_for(lambda: told(order.diary) > again + ENOUGH)
    order.stop()
    writer.join(30)
    assert writer.exitcode == 0


def backends(server: PostgresServer) -> int:
    """Count the connections a killed process left behind."""
    with psycopg.connect(server.url) as conn:
        (count,) = conn.execute(
            "select count(*) from pg_stat_activity where datname = 'foja' and pid <> pg_backend_pid()"
        ).fetchall()[0]
    return int(count)


def check_told(diary: Diary, books: Books) -> None:
    """Everything acknowledged is there, as it was acknowledged."""
    for key, (stream, seq, body_hash) in diary.told.items():
        sheet = books.streams[stream].sheets[seq]
        assert (sheet.key, sheet.body_hash) == (key, body_hash)


def check_once(diary: Diary, books: Books) -> None:
    """No request was written twice."""
    keys = Counter(
        sheet.key for stream in books.streams.values() for sheet in stream.events() if sheet.key is not None
    )
    assert not [key for key, count in keys.items() if count > 1]
    assert diary.asked.keys() <= keys.keys()


async def ask_again(home: Home, diary: Diary) -> None:
    """Repeat every request that was never answered, and let the log catch up."""
    async with foja.connect(database_url=home.server.url, home=home.folder) as app:
        for key, (stream, text) in diary.unanswered().items():
            talk = await app.conversations.open(stream)
            event = await talk.append(SAY, words(text), idempotency_key=key)
            again = await talk.append(SAY, words(text), idempotency_key=key)
            assert (again.seq, again.id) == (event.seq, event.id)
        await app.sequencer.check()
        await asyncio.sleep(1.1)  # until the last reservation is over
        await app.work(until_idle=True)


def survive(home: Home, crash: Callable[[Home], None]) -> None:
    crash(home)
    diary = read_diary(home.diaries[-1])
    check_told(diary, audit(home.server.url))
    asyncio.run(ask_again(home, diary))
    books = audit_idle(home.server.url)
    for path in home.diaries:
        check_told(read_diary(path), books)
        check_once(read_diary(path), books)


@pytest.mark.parametrize("crash", [kill_the_writer, stop_the_server])
def test_crashes_under_load(home: Home, crash: Callable[[Home], None]) -> None:
    for _ in range(ROUNDS):
        survive(home, crash)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("crash", [kill_the_writer, stop_the_server])
def test_twenty_crashes_under_load(home: Home, crash: Callable[[Home], None]) -> None:
    for _ in range(LONG):
        survive(home, crash)


def test_both_at_once(home: Home) -> None:
    """The server stops, and the writer is killed while it waits for it."""
    order = home.order()
    writer = begin(order)
    wait_for(lambda: told(order.diary) > ENOUGH)
    stop(home.server, mode="immediate")
    wait_for(lambda: bool(read_diary(order.diary).unanswered()))
    writer.kill()
    writer.join()
    home.server = start(home.folder)
    diary = read_diary(order.diary)
    check_told(diary, audit(home.server.url))
    assert diary.unanswered()
    asyncio.run(ask_again(home, diary))
    check_once(diary, audit_idle(home.server.url))
