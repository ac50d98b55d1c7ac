"""Followers that are disconnected, resumed or given wrong cursors get every event in the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.driver.pipeline import Pipeline
from foja.engine.ledger.event import Event, Reset, StreamItem
from foja.engine.ledger.live.follower import Follower
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.reader import StreamReader
from foja.engine.ledger.slots import Slots
from foja.errors import CursorLost, FojaError, LedgerUnavailable, Unavailable
from tests.cases import all_cases
from tests.faults.load import follow_in_process
from tests.faults.steps import SteppedDatabase, Steps
from tests.races.auditor import audit_idle
from tests.races.writers import SAY, TOOL, processes, result, words

Source: TypeAlias = AsyncIterator[StreamItem]
Result = TypeVar("Result")
APPEND_SQL = "select seq from foja.append_event(%s, 'conversation', %s, %s::jsonb)"


@dataclass
class Client:
    """A reader that stores the last frame of each number and the last cursor."""

    frames: dict[tuple[UUID, int], Event] = field(default_factory=dict)
    cursor: str | None = None
    resets: int = 0
    count: int = 0

    async def read(self, source: Source, most: int | None = None) -> None:
        """Read frames until there are `most` of them."""
        async for frame in source:
            self.take(frame)
            if self.count == most:
                return

    def take(self, frame: StreamItem) -> None:
        self.count += 1
        if isinstance(frame, Reset):
            self.frames, self.cursor, self.resets = {}, None, self.resets + 1
            return
        assert isinstance(frame, Event)
        self.frames[frame.entity_id, frame.seq] = frame
        self.cursor = frame.cursor or self.cursor

    def ids(self) -> dict[int, UUID | None]:
        return {seq: frame.id for (_, seq), frame in self.frames.items()}


@contextlib.asynccontextmanager
async def reading(client: Client, source: Source) -> AsyncIterator[asyncio.Task[None]]:
    """Let a client read in a task meanwhile."""
    task = asyncio.create_task(client.read(source))
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


async def retry(call: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat a call while the test cuts its connections."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(Unavailable):
                return await call()


async def committed(talk: Conversation) -> dict[int, UUID | None]:
    return {event.seq: event.id for event in await talk.events(limit=10_000)}


async def caught_up(client: Client, talk: Conversation) -> None:
    """Wait until a client has every committed event."""
    async with asyncio.timeout(60):
        while client.ids() != await retry(lambda: committed(talk)):
            await asyncio.sleep(0.01)


def cut(admin: psycopg.Connection[Any], *, listeners: bool) -> int:
    """Terminate the connections that listen, or all others. Return how many."""
    ended = admin.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and (query ilike 'listen%%') = %s",
        (listeners,),
    )
    return len(ended.fetchall())


@pytest.mark.parametrize("listeners", [True, False])
async def test_a_follower_survives_cut_connections(
    app: App, open_app: Callable[..., App], admin: psycopg.Connection[Any], listeners: bool
) -> None:
    async with open_app() as elsewhere:
        talk = await app.conversations.open()
        same = await elsewhere.conversations.open(talk.id)
        part, whole = Client(), Client()
        async with reading(part, same.follow()), reading(whole, elsewhere.ledger.log.follow(None)):
            await talk.append(SAY, words("first"))
            await until(lambda: part.count == 1)
            cuts = 0
            for turn in range(60):
                if turn % 6 == 3:
                    cuts += cut(admin, listeners=listeners)
                await talk.append(SAY, words(str(turn)))
                if turn % 20 == 10:
                    await retry(lambda: app.work(until_idle=True))
            await retry(lambda: app.work(until_idle=True))
            assert cuts
            await caught_up(part, talk)
            await caught_up(whole, talk)
    assert list(part.ids()) == list(whole.ids()) == list(range(61))
    assert (part.count, part.resets, whole.count, whole.resets) == (61, 0, 61, 0)


async def test_a_follower_in_another_process(app: App, database_url: str, tmp_path: Path) -> None:
    """It never polls: notifications arrive in other processes."""
    talk = await app.conversations.open()
    await talk.append(SAY, words("first"))
    loop = asyncio.get_running_loop()
    with processes(1) as pool:
        following = loop.run_in_executor(pool, follow_in_process, database_url, tmp_path, talk.id, 42)
        for turn in range(1, 42):
            await asyncio.sleep(0.05)
            if turn == 30:  # from here on the follower is live
                await until((tmp_path / "follows").exists)
            await talk.append(SAY, words(str(turn)))
        received = await asyncio.wait_for(following, 60)
    assert received == [(event.seq, event.id) for event in await talk.events()]
    assert len(received) == 42


async def test_an_event_without_a_notification_is_found_by_polling(app: App, database_url: str) -> None:
    talk = await app.conversations.open()
    client = Client()
    async with reading(client, talk.follow()), await AsyncConnection.connect(database_url) as conn:
        await asyncio.sleep(0.2)
        await conn.execute(APPEND_SQL, (talk.id, SAY, '{"content": "no notification"}'))
        await conn.commit()
        await until(lambda: client.count == 1)


async def test_an_open_slot_does_not_block_a_reader(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append(SAY, words("below"))
    client = Client()
    async with reading(client, talk.follow()):
        slots = await talk.reserve(2, ttl=60, intents=["a", "b"])
        for turn in range(3):
            await talk.append(SAY, words(str(turn)))
        await caught_up(client, talk)
        frames = [client.frames[talk.id, seq] for seq in range(6)]
        assert [frame.kind for frame in frames] == [SAY, "slot.open", "slot.open", SAY, SAY, SAY]
        assert [frame.payload["intent"] for frame in frames[1:3]] == ["a", "b"]
        assert [frame.cursor is None for frame in frames] == [False, True, True, True, True, True]
        await slots.fill(1, TOOL, result("b"))
        await caught_up(client, talk)
        assert client.cursor == frames[0].cursor
        await slots.void(0, reason="denied")
        await caught_up(client, talk)
    assert client.cursor is not None
    assert client.cursor.endswith(":5")
    assert client.frames[talk.id, 1].kind == "slot.voided"


async def test_a_late_fill_far_below_the_head_arrives(app: App) -> None:
    """It is more than one page below the head, and the reader has not yet read so far."""
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    for _ in range(3):
        await talk.append_many([talk.draft(SAY, words("x")) for _ in range(400)])
    client = Client()
    async with reading(client, talk.follow()):
        await until(lambda: client.count > 0)
        await slots.fill(0, TOOL, result("late"))
        await caught_up(client, talk)
    assert client.frames[talk.id, 0].kind == TOOL


Step: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


@dataclass
class Scenario:
    """A sequence of steps with open slots, late fills, voids and an expiry."""

    app: App
    talk: Conversation
    slots: list[Slots] = field(default_factory=list)

    def steps(self) -> list[Step]:
        talk, slots = self.talk, self.slots
        return [
            lambda: talk.append(SAY, words("0")),
            lambda: self.reserve(3, 60),
            lambda: talk.append(SAY, words("4")),
            lambda: slots[0].fill(1, TOOL, result("2")),
            lambda: self.reserve(2, 0.001),
            lambda: talk.append(SAY, words("7")),
            lambda: slots[0].fill(0, TOOL, result("1")),
            self.sweep,
            lambda: talk.append(SAY, words("8")),
            lambda: slots[0].void(2, reason="denied"),
            lambda: talk.append_many([talk.draft(SAY, words(str(n))) for n in (9, 10)]),
            self.sweep,
            lambda: talk.append(SAY, words("11")),
        ]

    async def sweep(self) -> None:
        """Void expired slots and seal contiguous events."""
        while await self.app.sequencer.sweep():
            pass

    async def reserve(self, count: int, ttl: float) -> None:
        self.slots.append(await self.talk.reserve(count, ttl=ttl))
        await asyncio.sleep(0.005 if ttl < 1 else 0)


async def test_a_follower_can_resume_at_every_position(app: App) -> None:
    """Wherever it is disconnected, a client that replaces frames by number has the same events."""
    uncut = await watch(app, 10_000)
    assert uncut.count > 15
    for client in await asyncio.gather(*(watch(app, n) for n in range(1, uncut.count + 1))):
        assert {seq: frame.kind for (_, seq), frame in client.frames.items()} == {
            seq: frame.kind for (_, seq), frame in uncut.frames.items()
        }
        assert client.resets == 0


async def watch(app: App, position: int) -> Client:
    """Follow the whole scenario, disconnected once after `position` frames."""
    talk = await app.conversations.open()
    client = Client()
    reader = asyncio.create_task(read_in_parts(client, talk, position))
    for step in Scenario(app, talk).steps():
        await step()
        await caught_up(client, talk)
        if reader.done():
            reader.result()
    reader.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reader
    assert client.ids() == await committed(talk)
    assert not any(frame.open for frame in client.frames.values())
    assert client.cursor is not None
    assert client.cursor.endswith(f":{len(client.frames) - 1}")
    return client


async def read_in_parts(client: Client, talk: Conversation, position: int) -> None:
    """Read `position` frames, then resume with only the cursor."""
    await client.read(talk.follow(after=client.cursor), position)
    await client.read(talk.follow(after=client.cursor))


async def test_a_follower_that_reconnects_after_every_frame_reaches_the_end(app: App) -> None:
    talk = await app.conversations.open()
    client = Client()
    for step in Scenario(app, talk).steps():
        await step()
        everything = await committed(talk)
        while client.ids() != everything:
            known = dict(client.ids())
            async with asyncio.timeout(60):
                async for frame in talk.follow(after=client.cursor):
                    client.take(frame)
                    if client.ids() != known:
                        break
    assert client.resets == 0
    assert not any(frame.open for frame in client.frames.values())


async def test_valid_cursors_continue_at_the_next_event(app: App) -> None:
    talk = await app.conversations.open()
    cursors = [(await talk.append(SAY, words(str(n)))).cursor for n in range(5)]
    await app.work(until_idle=True)
    cursors += [event.cursor for event in await talk.events()]
    places = [event.cursor for event in await app.ledger.log.events(None, 100)]
    last = await talk.append(SAY, words("last"))
    await app.work(until_idle=True)
    for n, cursor in enumerate(cursors):
        frame = await asyncio.wait_for(anext(talk.follow(after=cursor)), 60)
        assert (frame.kind, frame.seq) == (SAY, n % 5 + 1)
    for n, place in enumerate(places):
        frame = await asyncio.wait_for(anext(app.ledger.log.follow(place)), 60)
        assert (frame.kind, frame.seq) == (SAY, n + 1)
    assert last.seq == 5


async def test_the_cursor_of_the_last_event_waits_for_the_next(app: App) -> None:
    talk = await app.conversations.open()
    event = await talk.append(SAY, words("0"))
    client = Client()
    async with reading(client, talk.follow(after=event.cursor)):
        await asyncio.sleep(0.1)
        assert client.count == 0
        await talk.append(SAY, words("1"))
        await until(lambda: client.ids().keys() == {1})


async def test_invalid_cursors_reset(app: App) -> None:
    talk = await app.conversations.open()
    event = await talk.append(SAY, words("0"))
    await app.work(until_idle=True)
    (place,) = await app.ledger.log.events(None, 10)
    assert event.cursor is not None
    assert place.cursor is not None
    epoch = event.cursor.partition(":")[0]
    for after, reason in ((f"{epoch}:7", "future"), ("feedfacecafe:0", "epoch"), (7, "future")):
        await check_reset(talk.follow(after=after), reason)
    for after, reason in (
        (f"{epoch}:1:7", "future"),
        ("feedfacecafe:1:0", "epoch"),
        (f"{epoch}:9:0", "origin"),
    ):
        await check_reset(app.ledger.log.follow(after), reason)
    for lost in (f"{epoch}:7", "feedfacecafe:0"):
        with pytest.raises(CursorLost):
            await talk.events(after=lost)
    with pytest.raises(CursorLost):
        await app.ledger.log.events("feedfacecafe:1:0", 10)


async def check_reset(source: Source, reason: str) -> None:
    """Check that the reader gets the reason, and then all events again."""
    frame = await asyncio.wait_for(anext(source), 60)
    assert isinstance(frame, Reset)
    assert frame.reason == reason
    assert (await asyncio.wait_for(anext(source), 60)).seq == 0


async def test_a_restart_of_the_log_resets_followers_in_other_processes(
    open_app: Callable[..., App],
) -> None:
    """Events that are appended there afterwards have cursors of the new epoch."""
    async with open_app() as app, open_app() as other:
        talk = await app.conversations.open()
        old = await talk.append(SAY, words("0"))
        client = Client()
        async with reading(client, talk.follow(after=None)):
            await until(lambda: client.count == 1)
            await other.work(until_idle=True)
            await other.sequencer.restart()
            await until(lambda: client.resets == 1 and client.ids().keys() == {0})
            await check_reset(talk.follow(after=old.cursor), "epoch")
            await talk.append(SAY, words("1"))
            await until(lambda: client.ids().keys() == {0, 1})
            epoch = (await talk.state()).epoch
            await until(lambda: app.ledger._notifier.epoch == epoch)  # it learns of it when it notifies
            await check_cursors(talk)
        await app.work(until_idle=True)
        (place, *_) = await app.ledger.log.events(None, 10)
        assert place.cursor is not None
        assert place.cursor.partition(":")[0] == (await talk.state()).epoch
        await app.ledger.log.prove(talk.id, 1)


async def test_a_failover_starts_a_new_epoch(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    """A failover may have lost commits: a writer detects it before its next append."""
    async with open_app() as app:
        talk = await app.conversations.open()
        old = await talk.append(SAY, words("0"))
        admin.execute("update foja.installation set timeline = timeline + 1")
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        event = await talk.append(SAY, words("1"))
        (epoch,) = admin.execute("select epoch from foja.installation").fetchone() or ("",)
        assert event.cursor == f"{epoch}:1"
        await check_reset(talk.follow(after=old.cursor), "epoch")
        await check_cursors(talk)


async def check_cursors(talk: Conversation) -> None:
    """Check that the cursor of a new event leads to the next one."""
    first = await talk.append(SAY, words("then"))
    last = await talk.append(SAY, words("next"))
    assert [event.id for event in await talk.events(after=first.cursor)] == [last.id]


MALFORMED = ["", ":", "7", "x:", ":0", "x:-1", "x:y", "x:0:1:2", "x:0x1", "x: 1", "x:1.0", f"x:{'9' * 5000}"]


@all_cases("cursor", MALFORMED)
async def test_malformed_cursors_are_refused_or_reset(app: App, cursor: str) -> None:
    talk = await app.conversations.open()
    await talk.append(SAY, words("0"))
    await app.work(until_idle=True)
    for source in (talk.follow(after=cursor), app.ledger.log.follow(cursor)):
        try:
            assert isinstance(await asyncio.wait_for(anext(source), 60), Reset)
        except CursorLost:
            continue
    for call in (talk.events(after=cursor), app.ledger.log.events(cursor, 10)):
        with pytest.raises(CursorLost):
            await call


@all_cases("after", [-1, -2, -1000])
async def test_a_negative_number_is_refused_or_reads_from_the_start(app: App, after: int) -> None:
    talk = await app.conversations.open()
    for n in range(3):
        await talk.append(SAY, words(str(n)))
    try:
        events = await talk.events(after=after)
    except FojaError:
        return
    assert events == await talk.events()


async def test_a_follower_continues_after_a_restart_of_the_log(app: App) -> None:
    talks = [await app.conversations.open() for _ in range(2)]
    for talk in talks:
        await talk.append_many([talk.draft(SAY, words("x")) for _ in range(3)])
    await app.work(until_idle=True)
    client, stream = Client(), Client()
    async with (
        reading(client, app.ledger.log.follow(None)),
        reading(stream, talks[0].follow()),
    ):
        await until(lambda: (client.count, stream.count) == (6, 3))
        await talks[0].append(SAY, words("numbered, not published"))
        await app.sequencer.number()
        await until(lambda: client.count == 7)
        await app.sequencer.restart()
        await talks[1].append(SAY, words("in the new log"))
        await app.work(until_idle=True)
        everything = sorted(audit_idle(app.settings.database_url).order())
        await until(lambda: sorted(client.frames) == everything and client.resets == 1)
        await until(lambda: stream.resets == 1 and stream.ids().keys() == {0, 1, 2, 3})
        before = client.count
        await talks[0].append(SAY, words("live again"))
        await app.work(until_idle=True)
        await until(lambda: client.count == before + 1 and stream.ids().keys() == {0, 1, 2, 3, 4})
    resumed = Client()
    async with reading(resumed, app.ledger.log.follow(client.cursor)):
        await talks[1].append(SAY, words("after the resume"))
        await app.work(until_idle=True)
        await until(lambda: resumed.count == 1)
    assert resumed.resets == 0


@pytest.mark.parametrize("ticks", range(6))
@pytest.mark.parametrize("of", ["stream", "log"])
async def test_a_cancelled_follower_stops(app: App, ticks: int, of: str) -> None:
    """Also if it is notified at the same moment."""
    talk = await app.conversations.open()
    await talk.append(SAY, words("0"))
    await app.work(until_idle=True)
    client = Client()
    source = talk.follow() if of == "stream" else app.ledger.log.follow(None)
    task = asyncio.create_task(client.read(source))
    await until(lambda: client.count == 1)
    await asyncio.sleep(0.05)
    wake(app, talk)
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=60)
    assert done, "the cancellation was swallowed"


async def test_a_follower_can_be_cancelled_at_any_moment(app: App) -> None:
    """Also while its connection receives a result."""
    talk = await app.conversations.open()
    await talk.append_many([talk.draft(SAY, words("x")) for _ in range(600)])
    await app.work(until_idle=True)
    for ticks in range(150):
        for source in (talk.follow(), app.ledger.log.follow(None)):
            task = asyncio.create_task(Client().read(source))
            for _ in range(ticks):
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=60)
            assert done, f"the cancellation was swallowed after {ticks} ticks"


@pytest.mark.parametrize("what", ["stream", "log", "worker", "reserve"])
async def test_a_task_can_be_cancelled_while_its_connection_breaks(
    app: App, admin: psycopg.Connection[Any], database_url: str, what: str
) -> None:
    """As when a machine shuts down: psycopg reports the connection, not the cancellation."""
    talk = await app.conversations.open()
    await talk.append(SAY, words("0"))
    with psycopg.connect(database_url) as locker:
        locker.execute(
            "lock table foja.entity, foja.slot, foja.log, foja.installation in access exclusive mode"
        )
        calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "stream": lambda: Client().read(talk.follow()),
            "log": lambda: Client().read(app.ledger.log.follow(None)),
            "worker": app.work,
            "reserve": lambda: talk.reserve(1),
        }
        task = asyncio.create_task(calls[what]())
        async with asyncio.timeout(60):
            while not admin.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and wait_event_type = 'Lock'"
            ).fetchall():
                await asyncio.sleep(0.01)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=60)
        assert done, "the cancellation was swallowed"


@pytest.mark.parametrize("listeners", [True, False])
async def test_an_app_closes_after_its_connections_were_cut(
    open_app: Callable[..., App], admin: psycopg.Connection[Any], listeners: bool
) -> None:
    for _ in range(5):
        async with asyncio.timeout(60), open_app() as app:
            talk = await app.conversations.open()
            await talk.append(SAY, words("0"))
            async with reading(Client(), talk.follow()):
                await asyncio.sleep(0.05)
            while not cut(admin, listeners=listeners):  # a listener may not be connected yet
                await asyncio.sleep(0.01)


def wake(app: App, talk: Conversation) -> None:
    """Notify the followers of a stream and of the log, as an append and the sequencer do."""
    notifier = app.ledger._notifier
    notifier.touch((app.ledger.tenant, talk.id))
    notifier.touch(None)


async def test_a_follower_of_a_closed_app_ends(open_app: Callable[..., App]) -> None:
    async with open_app() as app:
        talk = await app.conversations.open()
        await talk.append(SAY, words("0"))
        source = talk.follow()
        await anext(source)
    with pytest.raises((FojaError, StopAsyncIteration)):
        await asyncio.wait_for(anext(source), 60)


async def peak_of(source: Source, count: int) -> int:
    """Return the peak memory of reading `count` events."""
    gc.collect()
    tracemalloc.start()
    try:
        async with asyncio.timeout(120):
            async for _ in source:
                count -= 1
                if count == 0:
                    return tracemalloc.get_traced_memory()[1]
        raise AssertionError
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("hole", [False, True])
@pytest.mark.parametrize(
    ("few", "many"), [(1_000, 8_000), pytest.param(2_000, 20_000, marks=pytest.mark.long)]
)
async def test_memory_does_not_grow_with_the_history(app: App, few: int, many: int, hole: bool) -> None:
    talk = await app.conversations.open()
    if hole:
        await talk.reserve(1, ttl=600)
    peaks = []
    for total in (few, many):
        state = await app.ledger.state(talk.id)
        for _ in range((total - state.next_seq + int(hole)) // 1000 + 1):
            await talk.append_many([talk.draft(SAY, words("x" * 50)) for _ in range(1000)])
        if not hole:
            await app.work(until_idle=True)
        peaks.append(await peak_of(talk.follow(), total))
        if not hole:
            peaks[-1] = max(peaks[-1], await peak_of(app.ledger.log.follow(None), total))
    assert peaks[1] < peaks[0] * 1.2 + 200_000, peaks


async def test_a_fill_is_returned_even_if_the_tail_cannot_be_read(app: App) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1)
    steps = Steps(at=5, moment="and not saved")
    tenant = app.settings.own_tenant
    reader = StreamReader(SteppedDatabase(app.database.of(tenant), steps), tenant)
    follower = Follower(reader, talk.id, None)
    assert [each.kind for each in await follower.step()] == ["slot.open"]
    await slots.fill(0, TOOL, result("t"))
    await talk.append(SAY, words("after"))
    assert [each.seq for each in await follower.step()] == [0]
    assert steps.names[-2:] == ["read_numbers", "read_tail"]
    assert [each.seq for each in await follower.step()] == [1]


async def test_the_end_of_a_turn_arrives_after_its_events(app: App) -> None:
    talk = await app.conversations.open()
    received: list[tuple[str, object]] = []

    async def listen() -> None:
        async for item in talk.follow():
            received.append((item.kind, item.payload))

    listener = asyncio.create_task(listen())
    for turn in range(60):
        await talk.append(SAY, words(str(turn)))
        await talk.emit("complete", {"stop_reason": str(turn)}, turn=str(turn))
        if turn % 7 == 0:
            await asyncio.sleep(0)
    async with asyncio.timeout(60):
        while len(received) < 120:
            await asyncio.sleep(0.01)
    listener.cancel()
    for turn in range(60):
        event, end = (SAY, words(str(turn))), ("complete", {"stop_reason": str(turn)})
        assert received.index(event) < received.index(end)


async def test_a_notifier_that_was_touched_this_moment_closes(app: App) -> None:
    """`asyncio.wait_for` of Python 3.11 loses a cancellation that arrives with the result."""
    notifier = Notifier(app.settings.database_url, "foja_api")
    notifier.open()
    notifier.touch(None)
    async with asyncio.timeout(60):
        while not notifier.epoch:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # it waits for the next notification
    notifier.touch(None)
    closing = asyncio.create_task(notifier.close())
    done, _ = await asyncio.wait([closing], timeout=60)
    assert done, "close() waits for a task that does not end"


async def test_a_fault_of_notifications_is_logged_once_and_its_end_once(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk connections open and notifications fail: each connection was logged as the end."""
    monkeypatch.setattr("foja.engine.ledger.live.notifier.SETTLE_SECONDS", 0.1)
    notifier = Notifier(app.settings.database_url, "foja_api")
    ask, refusals = Pipeline.ask, iter(range(4))

    async def refuse_first(*arguments: Any) -> bytes:
        if next(refusals, None) is None:
            return await ask(*arguments)
        notifier.touch(None)
        raise LedgerUnavailable("the disk is full")

    monkeypatch.setattr(Pipeline, "ask", refuse_first)
    notifier.open()
    notifier.touch(None)
    async with asyncio.timeout(60):
        while "works again" not in caplog.text:
            await asyncio.sleep(0.01)
    await notifier.close()
    lines = [record.getMessage() for record in caplog.records if record.name == "foja.faults"]
    assert [line.partition(" after")[0] for line in lines] == [
        "the database: the disk is full",
        "the database: works again",
    ]
