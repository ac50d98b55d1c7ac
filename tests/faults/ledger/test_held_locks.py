"""A session that holds a row for long: only the appends of that stream wait, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.jobs.worker import Worker
from foja.engine.metrics import HELD_STREAMS
from foja.errors import Busy
from tests.job_domain import RUN, ask, do_well, install, kinds, queue, wanted
from tests.races.writers import SAY, TOOL, result, words
from tests.redis_server import RedisServer

Admin = psycopg.Connection[Any]
LATEST = 30.0  # bounds a hang, not a speed


@contextmanager
def holding(url: str, session: UUID) -> Iterator[None]:
    """Append to a conversation as `psql` does, and leave the transaction open."""
    with psycopg.connect(url) as conn:
        conn.execute(
            "insert into public.message_events (session_id, event_type, data) values (%s, 'thinking', %s)",
            (session, '{"content": "held"}'),
        )
        yield
        conn.rollback()


async def talks(app: App, count: int) -> list[Conversation]:
    opened: list[Conversation] = [await app.conversations.open(uuid4()) for _ in range(count)]
    for talk in opened:
        await talk.append(SAY, words("first"))
    return opened


async def until_held(tasks: list[asyncio.Task[Any]]) -> None:
    """Wait until the process knows which stream is held."""
    async with asyncio.timeout(LATEST):
        while HELD_STREAMS._value.get() < 1:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("micro_batch", [True, False])
async def test_a_held_stream_stops_no_other(
    open_app: Callable[..., App], database_url: str, micro_batch: bool
) -> None:
    """Every other stream is appended to while one is held, and the held one when it is free."""
    async with open_app(micro_batch=micro_batch, retry_seconds=2 * LATEST) as app:
        held, *others = await talks(app, 9)
        with holding(database_url, held.id):
            blocked = [asyncio.create_task(held.append(SAY, words(f"blocked {n}"))) for n in range(40)]
            await until_held(blocked)
            async with asyncio.timeout(LATEST):
                for n in range(20):
                    await asyncio.gather(*(talk.append(SAY, words(str(n))) for talk in others))
            assert not any(task.done() for task in blocked)
        async with asyncio.timeout(LATEST):
            events = await asyncio.gather(*blocked)
        assert sorted(event.seq for event in events) == list(range(1, 41))
    assert HELD_STREAMS._value.get() == 0


async def test_a_batch_with_a_held_stream_tells_each_verdict(
    open_app: Callable[..., App], database_url: str
) -> None:
    """The drafts of other streams are recorded; that of the held one is `Busy` after its time."""
    async with open_app(retry_seconds=1.0) as app:
        held, *others = await talks(app, 4)
        with holding(database_url, held.id):
            async with asyncio.timeout(LATEST):
                verdicts = await app.ledger.append_each(
                    [talk.draft(SAY, words("each")) for talk in (held, *others)]
                )
                with pytest.raises(Busy, match="another session"):
                    await app.ledger.append_many([talk.draft(SAY, words("many")) for talk in (held, *others)])
        assert isinstance(verdicts[0], Busy)
        assert [verdict.seq for verdict in verdicts[1:]] == [1, 1, 1]  # type: ignore[union-attr]
        assert (await held.append(SAY, words("free"))).seq == 1


async def test_slots_of_other_streams_expire(app: App, admin: Admin, database_url: str) -> None:
    """The sweeper leaves a held stream for later: slots expire, events are sealed, holes are voided."""
    held, other = await talks(app, 2)
    for talk in (held, other):
        await talk.reserve(2, ttl=0.05)
        await talk.append(SAY, words("above"))
    with holding(database_url, held.id):
        async with asyncio.timeout(LATEST):
            while await sealed(admin, other.id) < 4:
                await app.work(until_idle=True)
        assert await sealed(admin, held.id) == 1
    async with asyncio.timeout(LATEST):
        while await sealed(admin, held.id) < 4:
            await app.work(until_idle=True)


async def sealed(admin: Admin, entity_id: UUID) -> int:
    row = admin.execute("select sealed from foja.entity where entity_id = %s", (entity_id,)).fetchone()
    assert row
    return int(row[0])


async def test_fills_of_a_held_stream_leave_connections_to_others(
    open_app: Callable[..., App], database_url: str
) -> None:
    """Many fills of a held stream wait in turn, so that fills and reads of others go on."""
    async with open_app(connections=2, retry_seconds=LATEST) as app:
        held, other = await talks(app, 2)
        slots, others = await held.reserve(20, ttl=600), await other.reserve(20, ttl=600)
        with holding(database_url, held.id):
            fills = [asyncio.create_task(slots.fill(n, TOOL, result(str(n)))) for n in range(20)]
            async with asyncio.timeout(LATEST):
                for n in range(20):
                    await others.fill(n, TOOL, result(str(n)))
            assert not any(fill.done() for fill in fills)
        async with asyncio.timeout(LATEST):
            await asyncio.gather(*fills)


async def test_a_held_lane_stops_no_other(
    open_app: Callable[..., App], admin: Admin, database_url: str, redis: RedisServer
) -> None:
    """Any login can hold the lane lock of one stream; other streams go on, and this one later."""
    async with open_app(
        redis_url=redis.url, redis_timeout_seconds=10, connections=2, retry_seconds=2 * LATEST
    ) as app:
        held, *others = await talks(app, 3)
        with psycopg.connect(database_url) as conn:
            conn.execute("select pg_advisory_lock(foja.lane_key(%s))", (held.id,))
            blocked = [asyncio.create_task(held.append(SAY, words(str(n)))) for n in range(8)]
            async with asyncio.timeout(LATEST):
                for n in range(10):
                    await asyncio.gather(*(talk.append(SAY, words(str(n))) for talk in others))
            assert not any(task.done() for task in blocked)
        async with asyncio.timeout(LATEST):
            await asyncio.gather(*blocked)


async def test_a_held_stream_keeps_no_job_of_another_from_its_end(admin: Admin, database_url: str) -> None:
    """Of a batch of jobs, all are settled but the one whose stream is held, and it is done later."""
    install(admin)
    free, held = ask(admin), ask(admin)
    async with queue(database_url) as opened:
        await opened.enqueue([wanted(entity, "k") for entity in free + held], "default")
        with psycopg.connect(database_url) as conn:
            conn.execute("select from foja.entity where entity_id = %s for update", held)
            async with asyncio.timeout(LATEST):
                await Worker(opened, RUN, do_well).step()
            assert kinds(admin, free[0]) == ["errand.asked", "errand.done"]
            assert kinds(admin, held[0]) == ["errand.asked"]
        admin.execute("update foja.job set lease_until = clock_timestamp() where type = %s", [RUN])
        await Worker(opened, RUN, do_well).run(until_idle=True)
    assert kinds(admin, held[0]) == ["errand.asked", "errand.done"]


async def test_approvals_of_other_streams_expire(app: App, database_url: str) -> None:
    """The expiry of approvals leaves a held conversation for later."""
    held, other = await talks(app, 2)
    for talk in (held, other):
        await talk.request_approval("pay", {}, approval_id="late", ttl=0.01)
    with holding(database_url, held.id):
        async with asyncio.timeout(LATEST):
            while await last_kind(other) != "approval_completed":
                await app.work(until_idle=True)
        assert await last_kind(held) == "approval_requested"


async def last_kind(talk: Conversation) -> str:
    return [event.kind for event in await talk.events()][-1]
