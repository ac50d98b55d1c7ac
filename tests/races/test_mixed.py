"""Everything at once on the same streams: appends, batches, slots, rollbacks, followers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection, sql

import foja
from foja.app import App
from foja.engine.driver.database import Database
from foja.engine.ledger.event import Event, StreamItem
from foja.errors import FojaError, SlotVoided
from tests.races.auditor import Books, audit, audit_idle
from tests.races.writers import SAY, TOOL, result, streams, words

SECONDS, LONG = 5.0, 60.0
APPEND_SQL = "select seq from foja.append_event(%s, 'conversation', %s, %s::jsonb)"
DEADLOCKS_SQL = "select deadlocks from pg_stat_database where datname = current_database()"
WAITING_SQL = """select 1 from pg_locks
    where not granted and transactionid = pg_current_xact_id_if_assigned()::xid"""


@dataclass
class Scene:
    """A few streams, two ways in, and what the callers were told."""

    url: str
    batched: App
    plain: App
    streams: list[UUID]
    told: dict[tuple[UUID, int], UUID | None] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Remember an answer: no two of them may name one number."""
        assert (event.entity_id, event.seq) not in self.told
        self.told[event.entity_id, event.seq] = event.id

    def add(self, what: str) -> None:
        self.count[what] = self.count.get(what, 0) + 1


Act: TypeAlias = Callable[[Scene, random.Random], Coroutine[Any, Any, None]]


async def append_batched(scene: Scene, choice: random.Random) -> None:
    talk = await scene.batched.conversations.open(choice.choice(scene.streams))
    scene.note(await talk.append(SAY, words("batched")))


async def append_plain(scene: Scene, choice: random.Random) -> None:
    talk = await scene.plain.conversations.open(choice.choice(scene.streams))
    scene.note(await talk.append(SAY, words("plain")))


async def append_across(scene: Scene, choice: random.Random) -> None:
    """Write to several streams at once, named in any order."""
    chosen = choice.sample(scene.streams, choice.randint(2, len(scene.streams))) * choice.randint(1, 3)
    choice.shuffle(chosen)
    talks = [await scene.plain.conversations.open(stream) for stream in chosen]
    for event in await scene.plain.ledger.append_many([talk.draft(SAY, words("across")) for talk in talks]):
        scene.note(event)


async def append_impatiently(scene: Scene, choice: random.Random) -> None:
    """Go away while the append is under way: it may be written or not, but not by half."""
    talk = await choice.choice([scene.batched, scene.plain]).conversations.open(choice.choice(scene.streams))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(talk.append(SAY, words("impatient")), choice.uniform(0, 0.01))
    scene.add("impatient")


async def use_slots(scene: Scene, choice: random.Random) -> None:
    """Fill some, void some, come too late for some, and forget some that expire by themselves."""
    talk = await scene.batched.conversations.open(choice.choice(scene.streams))
    hasty = choice.random() < 0.5
    slots = await talk.reserve(choice.randint(1, 5), ttl=0.05 if hasty else 30)
    for ordinal in choice.sample(range(len(slots.seqs)), len(slots.seqs)):
        await asyncio.sleep(choice.choice([0, 0.01, 0.06]))
        fate = choice.random()
        if hasty and fate < 0.3:
            scene.add("forgotten")
            continue
        try:
            if fate < 0.8:
                scene.note(await slots.fill(ordinal, TOOL, result("t")))
            else:
                await slots.void(ordinal, reason="denied")
                scene.add("voided")
        except SlotVoided:
            assert hasty
            scene.add("late")
            scene.note(await talk.append(TOOL, result("late")))


async def write_in_sql(scene: Scene, choice: random.Random) -> None:
    """Write to some streams in one transaction of our own, and often take it back."""
    chosen = choice.sample(scene.streams, choice.randint(1, 3))
    keep = choice.random() < 0.4
    text = '{"content": "kept"}' if keep else '{"content": "taken back"}'
    async with await AsyncConnection.connect(scene.url) as conn:
        try:
            for stream in chosen:
                await conn.execute(APPEND_SQL, (stream, SAY, text))
                await asyncio.sleep(choice.choice([0, 0.005]))
        except psycopg.errors.DeadlockDetected:
            scene.add("deadlocks")
            await conn.rollback()
        await (conn.commit() if keep else conn.rollback())
    scene.add("kept" if keep else "taken back")


ACTS: list[tuple[Act, int]] = [
    (append_batched, 8),
    (append_plain, 4),
    (append_across, 3),
    (append_impatiently, 3),
    (use_slots, 6),
    (write_in_sql, 3),
]


async def repeat(act: Act, scene: Scene, seed: str, until: float) -> None:
    choice = random.Random(seed)
    while asyncio.get_running_loop().time() < until:
        await act(scene, choice)


@contextlib.asynccontextmanager
async def meanwhile(*works: Awaitable[None]) -> AsyncIterator[None]:
    """Keep these going; the failure of one is the test's."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Follower:
    """What a reader has: the last event it was given for each number."""

    events: dict[tuple[UUID, int], Event] = field(default_factory=dict)
    order: list[tuple[UUID, int]] = field(default_factory=list)

    async def listen(self, source: AsyncIterator[StreamItem]) -> None:
        async for event in source:
            assert isinstance(event, Event), event
            self.events[event.entity_id, event.seq] = event
            self.order.append((event.entity_id, event.seq))

    def ids(self) -> dict[tuple[UUID, int], UUID | None]:
        return {place: event.id for place, event in self.events.items()}


async def caught_up(follower: Follower, books: Books, names: list[UUID]) -> None:
    """Wait until a follower has everything the books have."""
    everything = {(name, sheet.seq): sheet.id for name in names for sheet in books.streams[name].events()}
    async with asyncio.timeout(60):
        while follower.ids() != everything:
            await asyncio.sleep(0.02)


async def play(scene: Scene, seconds: float) -> None:
    until = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(
        *(
            repeat(act, scene, f"{act.__name__}/{number}", until)
            for act, tasks in ACTS
            for number in range(tasks)
        )
    )
    async with asyncio.timeout(60):
        while any(stream.open for stream in audit(scene.url).streams.values()):
            await asyncio.sleep(0.05)


def quick_to_see_deadlocks(url: str, after: str = "20ms") -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        name = sql.Identifier(urlsplit(url).path[1:])
        conn.execute(sql.SQL("alter database {} set deadlock_timeout = {}").format(name, after))


async def mix(url: str, home: Path, seconds: float) -> None:
    quick_to_see_deadlocks(url)
    names = streams(6)
    whole, parts = Follower(), {name: Follower() for name in names}
    async with (
        foja.connect(database_url=url, home=home) as batched,
        foja.connect(database_url=url, home=home, micro_batch=False) as plain,
    ):
        scene = Scene(url, batched, plain, names)
        talks = [await plain.conversations.open(name) for name in names]
        follows = [parts[talk.id].listen(talk.follow()) for talk in talks]
        async with meanwhile(batched.work(), whole.listen(batched.ledger.log.follow(None)), *follows):
            await play(scene, seconds)
            await batched.work(until_idle=True)
            books = audit_idle(url)
            await caught_up(whole, books, names)
            for name, follower in parts.items():
                await caught_up(follower, books, [name])
    assert whole.order == books.order()
    check_answers(scene, books)


def check_answers(scene: Scene, books: Books) -> None:
    for (stream, seq), event_id in scene.told.items():
        assert books.streams[stream].sheets[seq].id == event_id
    bodies = [sheet.payload or "" for stream in books.streams.values() for sheet in stream.events()]
    assert not any("taken back" in body for body in bodies)
    for what in ("voided", "late", "forgotten", "kept", "taken back", "impatient"):
        assert scene.count.get(what), f"the mix was too tame: nothing was {what}"


async def test_everything_at_once(database_url: str, tmp_path: Path) -> None:
    await mix(database_url, tmp_path, SECONDS)


@pytest.mark.long
async def test_everything_at_once_for_a_minute(database_url: str, tmp_path: Path) -> None:
    await mix(database_url, tmp_path, LONG)


async def test_a_call_that_loses_a_deadlock_is_repeated(database_url: str, tmp_path: Path) -> None:
    low, high = sorted(streams(2))
    quick_to_see_deadlocks(database_url, "300ms")  # before the wait for a lock ends by itself
    async with foja.connect(database_url=database_url, home=tmp_path) as app:
        talks = [await app.conversations.open(name) for name in (low, high)]
        for talk in talks:
            await talk.append(SAY, words("first"))
        async with await AsyncConnection.connect(database_url) as conn:
            await conn.execute("set deadlock_timeout = '60s'")  # so the other one is chosen
            await conn.execute(APPEND_SQL, (high, SAY, '{"content": "ours"}'))
            call = asyncio.create_task(app.ledger.append_many([t.draft(SAY, words("theirs")) for t in talks]))
            async with asyncio.timeout(60):
                while (await (await conn.execute(WAITING_SQL)).fetchone()) is None:
                    await asyncio.sleep(0.01)
            await conn.execute(APPEND_SQL, (low, SAY, '{"content": "ours"}'))
            await conn.commit()
        assert [event.seq for event in await call] == [2, 2]
        await app.work(until_idle=True)
    with psycopg.connect(database_url, autocommit=True) as conn_:
        async with asyncio.timeout(60):  # a server process counts its deadlocks when it ends
            while conn_.execute(DEADLOCKS_SQL).fetchone() == (0,):
                await asyncio.sleep(0.05)
    audit_idle(database_url)


async def test_a_caller_who_gives_up_passes_its_turn_on(database_url: str) -> None:
    database = Database(database_url, "foja_api", 1)
    await database.open()
    async with database.connection():
        first, second = (asyncio.create_task(database.rows("select 1")) for _ in range(2))
        await asyncio.sleep(0.01)
    first.cancel()  # in the moment it was called
    async with asyncio.timeout(60):
        assert await second == [(1,)]
    await database.close()


@pytest.mark.parametrize("micro_batch", [True, False])
async def test_a_closed_app_answers(database_url: str, tmp_path: Path, micro_batch: bool) -> None:
    async with foja.connect(database_url=database_url, home=tmp_path, micro_batch=micro_batch) as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("open"))
    async with asyncio.timeout(60):
        with pytest.raises(FojaError):
            await talk.append(SAY, words("closed"))
