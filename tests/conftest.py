"""Fixtures for tests that need a real PostgreSQL. Only `app` is async; async tests may use them all."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import io
import os
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

import foja
from foja.app import App
from foja.domains.registration import prepare
from foja.engine import faults
from foja.engine.embedded.postgres import PostgresServer, start
from tests.counterparties.s3 import BUCKET, running_s3
from tests.postgres_server import folder_in_memory, running_postgres
from tests.redis_server import RedisServer, running_redis

# These databases need not survive a power cut. A test of durability starts its own server.
FAST = {"fsync": "off", "full_page_writes": "off", "autovacuum_naptime": "1h", "max_wal_size": "256MB"}
UNLIKE_EMBEDDED = {"max_connections": "200", "timezone": "America/Caracas"}
TEMPLATE = "foja_template"


# No example fails because the machine was busy while it ran.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sample", settings.get_profile("all"), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """Try a sample of the examples where the long tests are left out, as `make test` does.

    Keep temporary files in memory, which takes a fraction of the CPU time that a disk takes.

    Let children start with the default handler of Ctrl-C, also where a script ignores it (T4).
    """
    settings.load_profile("sample" if config.option.markexpr == "not long" else "all")
    if "TMPDIR" not in os.environ and (folder := folder_in_memory()):
        os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: they all stay, and a third of the time is won."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the process still runs a minute after the last test, and print what blocks it.

    A worker of `--numprocesses` is exempt: it waits for the others, and its parent ends it.
    """
    if not hasattr(session.config, "workerinput"):
        faulthandler.dump_traceback_later(60, exit=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where every task of a test waits that ran into its time limit."""
    report = yield
    if call.excinfo is not None and "pytest-timeout" in str(call.excinfo.value):
        waits = io.StringIO()
        for task in [*asyncio.tasks._all_tasks]:  # type: ignore[attr-defined]
            if not task.done():
                task.print_stack(file=waits)
        report.sections.append((f"Tasks of {item.name}", waits.getvalue()))
    return report


@pytest.fixture(autouse=True)
def no_open_faults() -> None:
    """Forget the faults of earlier tests: a process logs each fault once while it is open."""
    for fault in [*faults._open.values()]:
        for watch in [*fault.seen_by]:
            watch.close()
    faults._open.clear()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One embedded server for all tests, or one that runs the programs in FOJA_TEST_POSTGRES."""
    if programs := os.environ.get("FOJA_TEST_POSTGRES"):
        with running_postgres(Path(programs), FAST | UNLIKE_EMBEDDED) as server:
            yield server
        return
    with (
        tempfile.TemporaryDirectory(prefix="foja-test-", dir=folder_in_memory()) as home,
        start(Path(home), options=FAST) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def administer(postgres: PostgresServer) -> Iterator[Callable[..., None]]:
    """A function for the server's administrator: `administer("drop database {}", name)`."""
    with psycopg.connect(postgres.url, autocommit=True) as conn:

        def run(command: LiteralString, *names: str) -> None:
            conn.execute(sql.SQL(command).format(*map(sql.Identifier, names)))

        yield run


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, administer: Callable[..., None]) -> str:
    """The name of a database with every migration applied; a template must have no connections."""
    administer("create database {}", TEMPLATE)
    with ThreadPoolExecutor(max_workers=1) as thread:  # this thread may already run an event loop
        thread.submit(asyncio.run, prepare(_url_of(postgres, TEMPLATE))).result()
    return TEMPLATE


@pytest.fixture(scope="session")
def copied(
    postgres: PostgresServer, administer: Callable[..., None]
) -> Callable[[str], AbstractContextManager[str]]:
    """A function that copies a database and yields the administrator's URL of the copy."""

    @contextmanager
    def copy(template: str) -> Iterator[str]:
        name = f"test_{secrets.token_hex(6)}"
        administer("create database {} template {} strategy file_copy", name, template)
        yield _url_of(postgres, name)
        administer("drop database {} with (force)", name)

    return copy


@pytest.fixture
def database_url(copied: Callable[[str], AbstractContextManager[str]], template: str) -> Iterator[str]:
    """The administrator's URL of a fresh, migrated database."""
    with copied(template) as url:
        yield url


@pytest.fixture
def empty_database_url(copied: Callable[[str], AbstractContextManager[str]]) -> Iterator[str]:
    """The administrator's URL of a fresh database with nothing in it."""
    with copied("template1") as url:
        yield url


@pytest.fixture
def admin(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The administrator's connection to the fresh database, in autocommit mode."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="session")
def bucket() -> Iterator[str | None]:
    """The URL of a bucket on a real S3 server if FOJA_TEST_STORE says `s3`; None: stores are on disk."""
    if os.environ.get("FOJA_TEST_STORE") != "s3":
        yield None
        return
    with (
        tempfile.TemporaryDirectory(prefix="foja-test-", dir=folder_in_memory()) as folder,
        running_s3(Path(folder)) as server,
    ):
        os.environ |= server.environment  # also for the processes that tests start
        yield f"s3://{BUCKET}"


@pytest.fixture
def store_url(bucket: str | None, tmp_path: Path) -> str:
    """The URL of an empty store, where the installation of a test has its objects."""
    return f"{bucket}/{secrets.token_hex(6)}" if bucket else (tmp_path / "home" / "store").as_uri()


@pytest.fixture
def on_disk(bucket: str | None) -> None:
    """For a test that changes the files of a store."""
    if bucket:
        pytest.skip("it changes files, and the stores of these tests are on S3")


@pytest.fixture
def open_app(
    database_url: str, bucket: str | None, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., App]:
    """A function that connects to the fresh database: `async with open_app(**settings) as app`."""
    if bucket:  # for whatever connects, also in another process
        monkeypatch.setenv("FOJA_STORAGE_URL", store_url)

    def connect(**chosen: Any) -> App:
        return foja.connect(**{"database_url": database_url, "home": tmp_path / "home", **chosen})

    return connect


@pytest.fixture
async def app(open_app: Callable[..., App]) -> AsyncIterator[App]:
    """An App, connected to the fresh database."""
    async with open_app() as app:
        yield app


@pytest.fixture(params=["micro-batch", "one by one"])
async def either_app(request: pytest.FixtureRequest, open_app: Callable[..., App]) -> AsyncIterator[App]:
    """An App with micro-batching, and again one without."""
    async with open_app(micro_batch=request.param == "micro-batch") as app:
        yield app


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """A real Redis for one test, which may break it."""
    with running_redis() as server:
        yield server


def _url_of(postgres: PostgresServer, name: str) -> str:
    return urlsplit(postgres.url)._replace(path=f"/{name}").geturl()
