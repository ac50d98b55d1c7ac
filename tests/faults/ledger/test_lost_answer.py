"""Answers that never arrive: the call returns the one event, and it is there once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.embedded.postgres import start
from foja.engine.ledger.event import Event
from foja.errors import IdempotencyConflict, LedgerUnavailable, SlotVoided, WrongExpectedSeq
from tests.cases import all_cases
from tests.faults.proxy import Moment, Wire, wired
from tests.postgres_server import folder_in_memory
from tests.races.auditor import Books, audit, audit_idle
from tests.races.writers import SAY, TOOL, result, words

MARK = "the wire is cut here"
MOMENTS: list[Moment] = ["before", "after"]


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[Wire]:
    async with wired(database_url) as wire:
        yield wire


@pytest.fixture(params=["micro-batch", "one by one"])
async def wired_app(request: pytest.FixtureRequest, wire: Wire, tmp_path: Path) -> AsyncIterator[App]:
    """An app whose every connection runs through the wire."""
    micro_batch = request.param == "micro-batch"
    async with foja.connect(database_url=wire.url, home=tmp_path, micro_batch=micro_batch) as app:
        yield app


async def append(talk: Conversation) -> list[Event]:
    return [await talk.append(SAY, words(MARK))]


async def append_with_key(talk: Conversation) -> list[Event]:
    return [await talk.append(SAY, words(MARK), idempotency_key="k")]


async def append_expecting(talk: Conversation) -> list[Event]:
    return [await talk.append(SAY, words(MARK), expected_seq=1)]


async def append_many(talk: Conversation) -> list[Event]:
    return await talk.append_many([talk.draft(SAY, words(f"{MARK} {n}")) for n in range(3)])


async def append_many_expecting(talk: Conversation) -> list[Event]:
    drafts = [talk.draft(SAY, words(f"{MARK} {n}"), expected_seq=1 + n) for n in range(3)]
    return await talk.append_many(drafts)


async def append_each(talk: Conversation) -> list[Event]:
    verdicts = await talk.append_each([talk.draft(SAY, words(f"{MARK} {n}")) for n in range(3)])
    return [verdict for verdict in verdicts if isinstance(verdict, Event)]


Call: TypeAlias = Callable[[Conversation], Coroutine[Any, Any, list[Event]]]
CALLS: list[tuple[Call, int]] = [
    (append, 1),
    (append_with_key, 1),
    (append_expecting, 1),
    (append_many, 3),
    (append_many_expecting, 3),
    (append_each, 3),
]


def check(books: Books, name: UUID, events: list[Event], count: int) -> None:
    """The events are there as told, after the first one, and nothing else is."""
    stream = books.streams[name]
    assert [event.seq for event in events] == list(range(1, 1 + count))
    assert [(sheet.seq, sheet.id, sheet.body_hash) for sheet in stream.events()[1:]] == [
        (event.seq, event.id, event.body_hash) for event in events
    ]


@pytest.mark.parametrize("moment", MOMENTS)
@all_cases(("call", "count"), CALLS)
async def test_a_cut_wire(
    wire: Wire, wired_app: App, database_url: str, call: Call, count: int, moment: Moment
) -> None:
    talk, before = await wired_app.conversations.open(), wire.cuts
    await talk.append(SAY, words("first"))
    wire.cut(MARK, moment)
    events = await call(talk)
    assert wire.cuts == before + 1
    check(audit(database_url), talk.id, events, count)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_wire_cut_again_and_again(
    wire: Wire, wired_app: App, database_url: str, moment: Moment
) -> None:
    talk = await wired_app.conversations.open()
    await talk.append(SAY, words("first"))
    wire.cut(MARK, moment, times=4)
    events = await append(talk)
    assert wire.cuts == 4
    check(audit(database_url), talk.id, events, 1)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_lone_caller_learns_that_its_process_closes(
    wire: Wire, tmp_path: Path, database_url: str, moment: Moment
) -> None:
    """It asks again for the lost answer when the app closes: what it gets is retryable, and says why.

    The error is emitted live, too; that opened a connection which nothing closed.
    """
    async with foja.connect(database_url=wire.url, home=tmp_path) as app:
        talk = await app.conversations.open()
        for text in ("first", "second", "third"):  # one after the other: the caller is known to be alone
            await talk.append(SAY, words(text))
        wire.cut(MARK, moment, times=1_000_000)
        waiting = asyncio.create_task(append(talk))
        while not wire.cuts:
            await asyncio.sleep(0.01)
    with pytest.raises(LedgerUnavailable, match="closing; the event may have been written"):
        await waiting
    assert len(audit(database_url).streams[talk.id].events()) == (3 if moment == "before" else 4)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_neighbours_in_a_batch_are_written_once(
    wire: Wire, wired_app: App, database_url: str, moment: Moment
) -> None:
    talks = [await wired_app.conversations.open() for _ in range(4)]
    wire.cut(MARK, moment)
    texts = [MARK if n == 7 else f"neighbour {n}" for n in range(40)]
    events = await asyncio.gather(
        *(talks[n % 4].append(SAY, words(text)) for n, text in enumerate(texts)),
    )
    assert wire.cuts == 1
    books = audit(database_url)
    told = {(event.entity_id, event.seq, event.id) for event in events}
    stored = {(s.id, sheet.seq, sheet.id) for s in books.streams.values() for sheet in s.events()}
    assert len(told) == 40
    assert told == stored


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_second_call_for_a_lost_answer(
    wire: Wire, tmp_path: Path, database_url: str, moment: Moment
) -> None:
    """Where the app does not try again by itself, its caller does: the key makes it one event."""
    async with foja.connect(database_url=wire.url, home=tmp_path, retry_seconds=0) as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("first"))
        wire.cut(MARK, moment)
        with pytest.raises(LedgerUnavailable):
            await append_with_key(talk)
        events = await append_with_key(talk)
        check(audit(database_url), talk.id, events, 1)
        with pytest.raises(IdempotencyConflict):
            await talk.append(SAY, words("something else"), idempotency_key="k")
        with pytest.raises(WrongExpectedSeq):
            await talk.append(SAY, words("late"), expected_seq=1)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_fill_and_a_void(wire: Wire, wired_app: App, database_url: str, moment: Moment) -> None:
    talk = await wired_app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    wire.cut(MARK, moment)
    event = await slots.fill(1, TOOL, result(MARK))
    wire.cut(MARK, moment)
    await slots.void(0, reason=MARK)
    assert wire.cuts == 2
    (stream,) = audit(database_url).streams.values()
    assert [sheet.kind for sheet in stream.events()] == ["slot.voided", TOOL]
    assert stream.sheets[1].id == event.id


@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_erasure(wire: Wire, wired_app: App, database_url: str, moment: Moment) -> None:
    talk = await wired_app.conversations.open()
    await talk.append(SAY, words("private"))
    wire.cut(MARK, moment)
    await talk.erase(0, reason=MARK)
    assert wire.cuts == 1
    (stream,) = audit(database_url).streams.values()
    assert [sheet.kind for sheet in stream.events()] == [SAY, "body.erased"]
    assert stream.sheets[0].payload is None


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_reservation_is_not_repeated(
    wire: Wire, wired_app: App, database_url: str, moment: Moment
) -> None:
    """A second try would take other numbers; the lost ones expire and the stream goes on."""
    talk = await wired_app.conversations.open()
    await talk.append(SAY, words("first"))
    wire.cut(MARK, moment)
    with pytest.raises(LedgerUnavailable):
        await talk.reserve(2, ttl=0.05, intents=[MARK, MARK])
    event = await talk.append(SAY, words("second"))
    assert event.seq == (1 if moment == "before" else 3)
    await asyncio.sleep(0.1)
    await wired_app.work(until_idle=True)
    kinds = [sheet.kind for sheet in audit_idle(database_url).streams[talk.id].events()]
    assert kinds == [SAY, *["slot.voided"] * (event.seq - 1), SAY]


async def test_a_connection_cut_while_it_is_made(wire: Wire, tmp_path: Path, database_url: str) -> None:
    """The server went away between the greeting and the role; that is no missing role."""
    async with foja.connect(database_url=wire.url, home=tmp_path) as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("first"))
        with psycopg.connect(database_url, autocommit=True) as admin:
            wire.cut("set_config('role'", "before", times=2)
            terminate(admin, "usename = 'postgres' and pid <> pg_backend_pid()")
            events = await append(talk)
        assert wire.cuts == 2
    check(audit(database_url), talk.id, events, 1)


def terminate(admin: psycopg.Connection[Any], which: str, wait: int = 5000) -> int:
    """End the backends of this database that fit, and return how many there were."""
    ended = admin.execute(
        f"select pg_terminate_backend(pid, {wait}) from pg_stat_activity"
        f" where datname = current_database() and {which}"
    )
    return len(ended.fetchall())


async def wait_for_backend(admin: psycopg.Connection[Any], wait_event: str) -> None:
    async with asyncio.timeout(60):
        while not admin.execute(
            "select from pg_stat_activity where datname = current_database() and wait_event = %s",
            (wait_event,),
        ).fetchall():
            await asyncio.sleep(0.01)


@contextlib.contextmanager
def paused_between_lock_and_commit(admin: psycopg.Connection[Any]) -> Iterator[None]:
    """Make an append stop once it has its lock, its number and its row."""
    admin.execute("select pg_advisory_lock(7)")
    admin.execute(
        """
        create or replace function public.pause() returns trigger language plpgsql security definer as
        $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
        create trigger pause after insert on foja.event for each statement execute function public.pause();
        """
    )
    try:
        yield
    finally:
        admin.execute("select pg_advisory_unlock(7)")
        admin.execute("drop trigger pause on foja.event")


@pytest.fixture(scope="module")
def lonely_url() -> Iterator[str]:
    """A server that waits for a standby nobody runs, where a transaction asks for it."""
    options = {"fsync": "off", "synchronous_standby_names": "nobody", "synchronous_commit": "local"}
    with (
        tempfile.TemporaryDirectory(prefix="foja-test-", dir=folder_in_memory()) as home,
        start(Path(home), options=options) as server,
    ):
        yield server.url


@contextlib.contextmanager
def paused_after_commit(admin: psycopg.Connection[Any]) -> Iterator[None]:
    """Make a commit wait once it is done: it holds, and nobody is told."""
    admin.execute(
        """
        create or replace function public.wait_for_standby() returns trigger language plpgsql as
        $$ begin perform set_config('synchronous_commit', 'on', true); return null; end $$;
        create trigger wait_for_standby after insert on foja.event
        for each row execute function public.wait_for_standby();
        """
    )
    try:
        yield
    finally:
        admin.execute("drop trigger wait_for_standby on foja.event")


@all_cases(("call", "count"), CALLS)
async def test_a_backend_killed_between_lock_and_commit(
    either_app: App, admin: psycopg.Connection[Any], database_url: str, call: Call, count: int
) -> None:
    talk = await either_app.conversations.open()
    await talk.append(SAY, words("first"))
    with paused_between_lock_and_commit(admin):
        waiting = asyncio.create_task(call(talk))
        await wait_for_backend(admin, "advisory")
        assert terminate(admin, "wait_event = 'advisory'") == 1
    events = await asyncio.wait_for(waiting, 60)
    check(audit(database_url), talk.id, events, count)


@pytest.mark.parametrize("micro_batch", [True, False])
@all_cases(("call", "count"), CALLS)
async def test_a_backend_killed_right_after_commit(
    lonely_url: str, tmp_path: Path, call: Call, count: int, micro_batch: bool
) -> None:
    async with foja.connect(database_url=lonely_url, home=tmp_path, micro_batch=micro_batch) as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("first"))
        with psycopg.connect(lonely_url, autocommit=True) as admin, paused_after_commit(admin):
            waiting = asyncio.create_task(call(talk))
            await wait_for_backend(admin, "SyncRep")
            assert not waiting.done()
            assert terminate(admin, "wait_event = 'SyncRep'") == 1
            events = await asyncio.wait_for(waiting, 60)
    check(audit(lonely_url), talk.id, events, count)


async def test_backends_killed_at_random(
    either_app: App, admin: psycopg.Connection[Any], database_url: str
) -> None:
    """Whatever is cut, whenever: every call returns its event, and nothing fails behind its back."""
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    talks = [await either_app.conversations.open() for _ in range(4)]
    choice = random.Random(7)
    over = False

    async def say(number: int) -> list[Event]:
        events: list[Event] = []
        while not over:
            events.append(await talks[number % 4].append(SAY, words(f"{number}/{len(events)}")))
        return events

    async with asyncio.TaskGroup() as group:
        said = [group.create_task(say(number)) for number in range(12)]
        for _ in range(20):
            await asyncio.sleep(choice.uniform(0.05, 0.15))
            terminate(admin, f"pid <> pg_backend_pid() and random() < {choice.choice([0.1, 0.5, 1])}", wait=0)
        over = True
    told = [(event.entity_id, event.seq, event.id) for task in said for event in task.result()]
    books = audit(database_url)
    stored = [(s.id, sheet.seq, sheet.id) for s in books.streams.values() for sheet in s.events()]
    assert sorted(told) == sorted(stored)
    assert not unheard


async def test_a_fill_whose_slot_expires_before_the_second_try(
    wire: Wire, tmp_path: Path, database_url: str
) -> None:
    """Written and then asked for again after the deadline: it stays written."""
    async with foja.connect(database_url=wire.url, home=tmp_path, retry_seconds=0) as app:
        talk = await app.conversations.open()
        slots = await talk.reserve(2, ttl=600)
        wire.cut(MARK, "after")
        with pytest.raises(LedgerUnavailable):
            await slots.fill(0, TOOL, result(MARK))
        wire.cut(MARK, "before")
        with pytest.raises(LedgerUnavailable):
            await slots.fill(1, TOOL, result(MARK))
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute("update foja.slot set deadline = clock_timestamp() where state = 'open'")
        assert (await slots.fill(0, TOOL, result(MARK))).seq == 0
        with pytest.raises(SlotVoided):
            await slots.fill(1, TOOL, result(MARK))
        await app.work(until_idle=True)
        assert (await slots.fill(0, TOOL, result(MARK))).seq == 0
    (stream,) = audit_idle(database_url).streams.values()
    assert [sheet.kind for sheet in stream.events()] == [TOOL, "slot.voided"]
    assert json.loads(stream.sheets[1].payload or "{}") == {"reason": "expired"}
