"""`app.work()` is cancelled at any moment: nothing is said, kept open or lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from foja.app import App
from foja.pure.models.documents.states import State
from tests.database.schema.rows import Admin

ROUNDS, LONGEST_SECONDS = 60, 0.25


def running(admin: Admin) -> int:
    row = admin.execute("select count(*) from foja.job where state = 'running'").fetchone()
    assert row is not None
    return int(row[0])


def sessions(admin: Admin) -> int:
    row = admin.execute(
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def tasks() -> Counter[str]:
    """Return the tasks of Foja that are not over, by what they do."""
    found = (each.get_coro() for each in asyncio.all_tasks() if not each.done())
    return Counter(str(getattr(each, "__qualname__", each)) for each in found)


async def test_work_is_cancelled_at_any_moment(
    open_app: Callable[..., App],
    admin: Admin,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """During a claim, a job or a commit: its jobs are returned, and the next worker ends them."""
    choice = random.Random(27)
    caplog.set_level(logging.WARNING)
    documents = []
    async with open_app() as app:
        with suppress(TimeoutError):  # opens every pool, and listens
            await asyncio.wait_for(app.work(), 1)
        before = tasks()
        for number in range(ROUNDS):
            documents.append(await app.documents.add(b"%d" % number))
            await documents[-1].protect()
            working = asyncio.create_task(app.work())
            await asyncio.sleep(choice.random() * LONGEST_SECONDS)
            assert not working.done(), "it fails by itself"
            working.cancel()
            ended, _ = await asyncio.wait([working], timeout=10)
            assert ended, "the cancellation was swallowed"
            assert working.cancelled()
            assert running(admin) == 0
        await asyncio.sleep(0)
        assert tasks() - before == Counter()
        assert [each.getMessage() for each in caplog.records] == []
        async with asyncio.timeout(60):  # a bundle waits for the next checkpoint
            while {(await each.view()).state for each in documents} != {State.FINAL}:
                await app.work(until_idle=True)
                await asyncio.sleep(0.1)
        tries = admin.execute("select distinct tries from foja.job where state = 'succeeded'").fetchall()
    assert tries == [(1,)]
    async with asyncio.timeout(10):  # the server needs a moment to end a session
        while sessions(admin):
            await asyncio.sleep(0.05)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
