"""Which process does the maintenance: one at a time, another one if that one dies, fails or hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.jobs.assembly import Chore
from foja.engine.maintenance import loop
from foja.engine.maintenance.lease import LEASE_SECONDS, MaintenanceLease
from foja.engine.maintenance.loop import Maintenance
from foja.engine.tasks import end
from foja.errors import FojaError, LedgerUnavailable, Unavailable
from tests.cases import all_cases
from tests.database.schema.rows import Admin
from tests.faults.servers.test_worker import working

LEASE = "select foja.lease_maintenance(%s, %s)"


@asynccontextmanager
async def processes(open_app: Callable[..., App], *chores: Chore) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run the maintenance as several processes would, each with its own chore; the first one begins."""
    async with AsyncExitStack() as opened:
        tasks = []
        for chore in chores:
            app = await opened.enter_async_context(open_app())
            lease = MaintenanceLease(app.sweeper)
            begun = asyncio.Event()
            run = Maintenance(app.sequencer, 1.0, [_noting(begun, chore)], lease=lease).run()
            tasks.append(asyncio.create_task(run))
            if len(tasks) == 1 and len(chores) > 1:
                await asyncio.wait_for(begun.wait(), 60)
        yield tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _noting(begun: asyncio.Event, chore: Chore) -> Chore:
    async def noting() -> int:
        begun.set()
        return await chore()

    return noting


def hold(admin: Admin, seconds: float) -> None:
    """Lease the maintenance to a process that is not there."""
    statement = "update foja.maintenance set worker = %s, lease_until = now() + make_interval(secs => %s)"
    admin.execute(statement, [uuid4(), seconds])


class Counted:
    """A chore that counts how often it ran."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> int:
        self.times += 1
        return 0

    async def more(self) -> None:
        """Wait until it has run again, a few times."""
        target = self.times + 3
        async with asyncio.timeout(60):
            while self.times < target:
                await asyncio.sleep(0.05)


async def test_one_process_at_a_time_works_and_the_next_when_it_ends(open_app: Callable[..., App]) -> None:
    first, second = Counted(), Counted()
    async with processes(open_app, first, second) as (task, _):
        await first.more()
        assert second.times == 0, "two did the same work"
        task.cancel()
        await second.more()


async def test_a_dead_process_is_followed_by_another(open_app: Callable[..., App], admin: Admin) -> None:
    hold(admin, LEASE_SECONDS)  # of a process that was killed
    chore = Counted()
    async with processes(open_app, chore):
        await chore.more()


async def test_a_process_that_fails_hands_over(open_app: Callable[..., App]) -> None:
    async def fail() -> int:
        raise Unavailable("its disk is full")

    other = Counted()
    async with processes(open_app, fail, other):
        await other.more()


@pytest.mark.parametrize("error", [Unavailable("its disk is full"), LedgerUnavailable("no answer")])
async def test_a_process_sees_the_end_of_its_fault_although_another_works_now(
    open_app: Callable[..., App], admin: Admin, caplog: pytest.LogCaptureFixture, error: FojaError
) -> None:
    tries, others = Counted(), list[asyncio.Task[None]]()

    async def hold_on() -> None:
        while True:
            hold(admin, 8)
            await asyncio.sleep(0.1)

    async def fail_first() -> int:
        await tries()
        if tries.times == 1:
            others.append(asyncio.create_task(hold_on()))
            await asyncio.sleep(0.2)
            raise error
        return 0

    async with processes(open_app, fail_first):
        async with asyncio.timeout(60):
            while not any("works again" in record.getMessage() for record in caplog.records):
                await asyncio.sleep(0.05)
        before = tries.times
        await asyncio.sleep(0.5)
        assert tries.times == before, "nothing fails any more, and another process has the lease"
    await end(others)


async def test_a_process_that_hangs_hands_over(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "STALLED_SECONDS", 0.5)

    async def hang() -> int:
        await asyncio.sleep(3600)
        return 0

    other = Counted()
    async with processes(open_app, hang, other):
        await other.more()


async def test_a_process_alone_goes_on_after_a_failure(open_app: Callable[..., App]) -> None:
    tries = Counted()

    async def fail() -> int:
        await tries()
        raise Unavailable("its disk is full")

    async with processes(open_app, fail):
        await tries.more()


async def test_until_idle_does_not_wait_for_the_lease(app: App, admin: Admin) -> None:
    hold(admin, 3600)
    await (await app.conversations.open()).append("user_message_sent", {"content": "hi"})
    await app.work(until_idle=True, only=[])
    assert list((app.settings.home / "store").glob("log/*/checkpoint"))


async def test_the_lease_of_a_clock_that_was_set_back_is_not_waited_for(
    open_app: Callable[..., App], admin: Admin
) -> None:
    hold(admin, 3600)
    chore = Counted()
    async with processes(open_app, chore):
        await chore.more()


def test_one_has_the_lease_and_gives_it_back(admin: Admin) -> None:
    one, other = uuid4(), uuid4()

    def lease(process: Any, seconds: float) -> bool:
        row = admin.execute(LEASE, [process, seconds]).fetchone()
        return bool(row and row[0])

    admin.execute("set role foja_sweeper")
    assert [lease(one, 10), lease(other, 10), lease(one, 10), lease(one, 0), lease(other, 10)] == [
        True,
        False,
        True,
        True,
        True,
    ]


@all_cases(("role", "seconds"), [("api", 1.0), ("sweeper", -1.0), ("sweeper", 11.0)])
def test_a_lease_is_for_the_sweeper_and_short(admin: Admin, role: str, seconds: float) -> None:
    admin.execute(f"set role foja_{role}".encode())
    with pytest.raises(psycopg.Error):
        admin.execute(LEASE, [uuid4(), seconds])


async def test_an_app_that_works_for_ever_does_the_maintenance(app: App) -> None:
    await (await app.conversations.open()).append("user_message_sent", {"content": "hi"})
    async with working(app.work(only=[])), asyncio.timeout(60):
        while not list((app.settings.home / "store").glob("log/*/checkpoint")):
            await asyncio.sleep(0.05)


async def test_a_worker_publishes_what_another_process_numbered_and_could_not_publish(
    app: App, admin: Admin
) -> None:
    """Numbered by a command while the store was full, it stayed unpublished until the next event came."""
    conversation = await app.conversations.open()
    await conversation.append("user_message_sent", {"content": "hi"})
    async with working(app.work(only=[])), asyncio.timeout(60):
        await _published(app)
        with admin.transaction():  # nothing is left to number for the worker
            thinks = "select foja.append_event(%s, 'conversation', 'thinking', '{\"content\": \"x\"}')"
            admin.execute(thinks, [conversation.id])
            admin.execute("set local role foja_sweeper")
            admin.execute("select foja.seal_ready(200, 200)")
            assert admin.execute("select foja.number_pending(1, 200)").fetchone() == (1,)
        await _published(app)


async def _published(app: App) -> None:
    while (await app.sequencer.current()).size == 0 or await app.sequencer.is_behind():
        await asyncio.sleep(0.05)
