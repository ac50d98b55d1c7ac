"""Background tasks end, also one that loses its cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import gc

import pytest

from foja.engine import tasks
from foja.engine.maintenance.loop import side_by_side
from foja.interfaces.cli.services import in_background


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancel again at once."""
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0.01)


async def careless(times: int = 3) -> None:
    """Lose the first cancellations, as `asyncio.wait_for` of Python 3.11 can."""
    for _ in range(times + 1):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def fail() -> None:
    raise RuntimeError("nobody asks for this error")


async def test_a_task_that_loses_its_cancellation_is_cancelled_again() -> None:
    running = [asyncio.create_task(each) for each in (careless(), fail(), asyncio.sleep(3600))]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await tasks.end(running)
    assert all(task.done() for task in running)


async def test_a_wait_with_a_limit_leaves_behind_what_does_not_end(caplog: pytest.LogCaptureFixture) -> None:
    """`asyncio.timeout` waits for the end of what it cancels, however long that takes."""
    ended = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await ended.wait()
            raise RuntimeError("nobody asks for this error")

    async with asyncio.timeout(60):
        with pytest.raises(TimeoutError):
            await tasks.within(0.01, stubborn())
    [left] = tasks._left
    ended.set()
    await asyncio.wait([left])
    await asyncio.sleep(0)
    assert not tasks._left
    del left
    gc.collect()
    assert caplog.records == []
    assert await tasks.within(60, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(RuntimeError):
        await tasks.within(60, fail())


async def test_there_may_be_nothing_to_end() -> None:
    await tasks.end([])


async def test_whoever_ends_tasks_and_is_cancelled_waits_for_all_of_them() -> None:
    running = [asyncio.create_task(careless()), asyncio.create_task(careless())]
    ending = asyncio.create_task(tasks.end(running))
    await asyncio.sleep(0)
    ending.cancel()
    async with asyncio.timeout(60):
        await asyncio.wait([ending])
    assert ending.cancelled()
    assert all(task.done() for task in running)


async def test_works_side_by_side_end_although_one_loses_its_cancellation() -> None:
    async with asyncio.timeout(60):
        with pytest.raises(RuntimeError, match="nobody"):
            await side_by_side(careless(), fail())


async def test_work_in_the_background_ends_although_it_loses_its_cancellation() -> None:
    async with asyncio.timeout(60):
        async with in_background(careless()) as work:
            await asyncio.sleep(0)
        assert work.done()


async def test_what_goes_to_its_end_does_so_however_often_its_task_is_cancelled() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await may_end.wait()
        ended.set()

    task = asyncio.create_task(tasks.to_the_end(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    await asyncio.wait([task])
    assert task.cancelled()
    assert ended.is_set()


async def test_what_goes_to_its_end_returns_its_result() -> None:
    async def work() -> int:
        return 7

    assert await tasks.to_the_end(work()) == 7
