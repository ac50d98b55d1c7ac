"""Maintenance while other parts fail: deadlines are still kept, and errors are reported."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from foja.app import App
from foja.domains.documents.workers import executor
from foja.engine.health.service import Probe
from foja.engine.maintenance.loop import Maintenance
from foja.engine.tasks import to_the_end
from foja.errors import FojaError, Unavailable
from tests.database.schema.rows import Admin


@contextmanager
def away(store: Path) -> Iterator[None]:
    """Replace the store by a symbolic link to itself."""
    aside = store.rename(store.with_name("aside"))
    store.symlink_to(store)
    yield
    store.unlink()
    aside.rename(store)


@contextmanager
def hanging(store: Path) -> Iterator[None]:
    """Replace the checkpoint by a pipe, so that a read never returns."""
    checkpoint = next(store.glob("log/*/checkpoint"))
    checkpoint.unlink()
    os.mkfifo(checkpoint)
    try:
        yield
    finally:
        os.close(os.open(checkpoint, os.O_RDWR | os.O_NONBLOCK))


@asynccontextmanager
async def working(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def late(app: App, admin: Admin) -> UUID:
    """Return a document whose attempt is past its deadline, with a published log."""
    document = await app.documents.add_digest("a" * 64)
    await app.documents.protect(document.id)
    await app.work(until_idle=True, only=[executor.TYPE])
    admin.execute("update foja.attempt set deadline = clock_timestamp()")
    return document.id


async def ending(app: App, document: UUID) -> None:
    """Wait until the sweeper has recorded that the attempt failed."""
    async with asyncio.timeout(60):
        while (await app.documents.events(document))[-1].kind != "tsa.failed":
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("broken", [away, hanging])
async def test_attempts_end_in_time_without_the_store(
    app: App, admin: Admin, broken: Callable[[Path], AbstractContextManager[None]]
) -> None:
    document = await late(app, admin)
    with broken(app.settings.home / "store"):
        async with working(app.work(only=[])):
            await ending(app, document)


async def test_attempts_end_in_time_if_the_log_has_another_key(
    app: App, admin: Admin, tmp_path: Path
) -> None:
    document = await late(app, admin)
    other_home = app.settings.model_copy(update={"home": tmp_path / "other"})
    keyless = App(other_home.model_copy(update={"storage_url": app.settings.store_url}), any_log_key=True)
    async with keyless as other, working(other.work(only=[])):
        await ending(app, document)


async def test_working_until_idle_keeps_deadlines_and_then_raises(app: App, admin: Admin) -> None:
    document = await late(app, admin)
    with away(app.settings.home / "store"), pytest.raises(FojaError):
        await app.work(until_idle=True, only=[])
    assert (await app.documents.events(document))[-1].kind == "tsa.failed"


async def test_a_failing_chore_does_not_stop_the_others(app: App, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[str] = []

    async def fail() -> int:
        tries.append("failed")
        raise Unavailable("always fails")

    async def do() -> int:
        tries.append("done")
        return 0

    async with working(Maintenance(app.sequencer, 1.0, [fail, do]).run()), asyncio.timeout(60):
        while tries.count("failed") < 2:
            await asyncio.sleep(0.05)
    assert tries.count("done") > 5, "no chore waits for the pause of another"
    assert caplog.text.count("always fails") == 1, "O2: a fault is logged once, however often it is met"
    with pytest.raises(Unavailable, match="always fails"):
        await Maintenance(app.sequencer, 1.0, [fail, do]).run(until_idle=True)
    assert tries[-2:] == ["failed", "done"]


async def test_a_failing_chore_does_not_stop_the_log(app: App) -> None:
    async def fail() -> int:
        raise Unavailable("always fails")

    await (await app.conversations.open()).append("user_message_sent", {"content": "hi"})
    async with working(Maintenance(app.sequencer, 0.0, [fail]).run()), asyncio.timeout(60):
        while not list((app.settings.home / "store").glob("log/*/checkpoint")):
            await asyncio.sleep(0.05)


async def test_no_probe_outlives_the_work_that_asked_for_it(app: App) -> None:
    """The pipes of a decoder that was being probed stayed open: the end of the work did not wait for it."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def end_slowly() -> None:
        await asyncio.sleep(0.5)
        ended.set()

    async def probe() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            await to_the_end(end_slowly())  # as for a process that is killed

    app.health.add({"slow": Probe(probe)})
    async with asyncio.timeout(60), working(app.work(only=[])):
        await began.wait()
    assert ended.is_set()
