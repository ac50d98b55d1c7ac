"""Background tasks end, also one that loses its cancellation."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from foja import tasks


async def test_a_task_that_loses_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0.01)
    lost = 0

    async def careless() -> None:
        nonlocal lost
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
            if lost == 3:
                return
            lost += 1

    async def failed() -> None:
        raise RuntimeError("nobody asks for this error")

    running = [asyncio.create_task(each) for each in (careless(), failed(), asyncio.Event().wait())]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await tasks.end(running)
    assert all(task.done() for task in running)
    assert lost == 3


async def test_there_may_be_nothing_to_end() -> None:
    await tasks.end([])
