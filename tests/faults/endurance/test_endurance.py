"""An hour of faults: nothing acknowledged is lost or doubled, nothing hangs, all processes return to work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import foja
from foja.app import App
from foja.engine.embedded.postgres import stop
from foja.engine.observe.audit import audit as find_problems
from tests.faults.endurance.faults import FAULTS, Fault
from tests.faults.endurance.scene import Scene, wait_for
from tests.faults.ledger.test_crash import check_told
from tests.faults.ledger.test_odd_redis import OddProxy
from tests.faults.load import read_diary
from tests.flow.images.small_disk import small_disk
from tests.races.auditor import Books, audit_idle
from tests.redis_server import RedisServer
from tests.tsa_server import running_tsa

SECONDS = float(os.environ.get("FOJA_TEST_FAULT_SECONDS", "3600"))
DISK = "4g"
FINAL_SECONDS = 600
LOGGED_SECONDS = 120  # metrics that took long are read seldom, so the end of their fault is found late
ENDS = ("works again", "not seen again", "followed by another error")


@pytest.fixture
async def scene(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.delenv("FOJA_DATABASE_URL", raising=False)
    proxy = OddProxy(redis.port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder, running_tsa() as tsa:
        disk, notes = Path(folder, "disk"), Path(folder, "notes")
        disk.mkdir()
        notes.mkdir()
        with small_disk(disk, DISK):
            scene = Scene(disk / "home", notes, tsa, redis, proxy)
            try:
                await asyncio.to_thread(scene.start)
                yield scene
            finally:
                scene.kill()
                stop(scene.home, "immediate")
    server.close()
    await proxy.close()


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 2_400)
async def test_an_hour_of_faults_loses_nothing(scene: Scene) -> None:
    choice = random.Random(time.time_ns())
    await asyncio.to_thread(scene.check_back, "the start")
    done: Counter[str] = Counter()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        fault: Fault = choice.choice(FAULTS)
        await fault(scene, choice)
        await asyncio.to_thread(scene.check_back, f"{fault.__name__} ({dict(done)})")
        done[fault.__name__] += 1
    with contextlib.suppress(AssertionError):  # the next line names the faults
        await asyncio.to_thread(wait_for, lambda: not +open_faults(scene), LOGGED_SECONDS, "their ends")
    assert +open_faults(scene) == Counter(), "faults whose end was not logged"
    await asyncio.to_thread(scene.stop)
    for path in scene.logs:
        check_log(path, done.total())
    settings = {**scene.settings(), "checkpoint_seconds": 0.05}
    async with foja.connect(home=scene.home, **settings) as app:
        await finish(app, scene)
        assert (await find_problems(app.settings.database_url, max_lag_seconds=60)).findings == ()
        books = audit_idle(app.settings.database_url)
    check_events(scene, books)
    print(f"faults: {dict(done)}; events: {sum(len(s.sheets) for s in books.streams.values()):,}")


async def finish(app: App, scene: Scene) -> None:
    """Let every acknowledged document become final: the authority is honest now."""
    async with asyncio.timeout(FINAL_SECONDS):
        for document in scene.documents():
            while (await app.documents.view(document)).state != "final":
                await app.work(until_idle=True)
                await asyncio.sleep(0.5)


def check_events(scene: Scene, books: Books) -> None:
    """Everything acknowledged is there, as it was acknowledged, and no key is there twice."""
    keys = Counter(sheet.key for stream in books.streams.values() for sheet in stream.events() if sheet.key)
    assert not [key for key, count in keys.items() if count > 1 and "/" in key]
    for order in scene.orders:
        check_told(read_diary(order.diary), books)


def open_faults(scene: Scene) -> Counter[str]:
    """Return the faults in the logs of the running workers that have not ended."""
    return sum((began - ended for began, ended in map(read_log, scene.logs)), Counter[str]())


def read_log(path: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how often each fault began and ended. None ends before it began."""
    began, ended = Counter[str](), Counter[str]()
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if entry["logger"] == "foja.faults":
            name, _, text = entry["message"].partition(": ")
            (ended if text.startswith(ENDS) else began)[name] += 1
            assert ended[name] <= began[name], f"{path.name}: {line}"
    return began, ended


def check_log(path: Path, faults: int) -> None:
    """Each fault was logged once when it began and once when it ended, not more often than there were any."""
    began, ended = read_log(path)
    assert began == ended, path.name
    assert max(began.values(), default=0) <= faults, (path.name, began)
