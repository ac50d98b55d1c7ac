"""A server that takes connections and says nothing: nobody waits for it without end."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from foja.app import App
from foja.domains.backup import tables
from foja.engine.driver.snapshot import open_foreign
from foja.engine.jobs.heartbeat import Heartbeat
from foja.engine.settings import Settings
from foja.engine.sql import migrate, network
from foja.errors import FojaError
from foja.interfaces.cli.doctor.database import check_database
from foja.interfaces.cli.server.temporary_database import temporary_database

SOON = 30.0  # seconds, on a machine that is busy; the limit is one


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(network.NETWORK, "connect_timeout", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://ana@127.0.0.1:{server.getsockname()[1]}/foja"


async def entered(opened: AbstractAsyncContextManager[Any]) -> None:
    async with opened:
        pass


@pytest.mark.parametrize(
    "connect",
    [
        migrate.status,
        lambda url: entered(tables.reading(url)),
        lambda url: entered(tables.writing(url)),
        lambda url: entered(temporary_database(url)),
        lambda url: entered(open_foreign(url, "public")),
    ],
    ids=["migrate", "backup", "restore", "scratch", "foreign"],
)
async def test_a_connect_has_a_limit(connect: Callable[[str], Awaitable[Any]], url: str) -> None:
    """Only pools had the limits of the network: `foja migrate` waited as long as the server was silent."""
    began = time.monotonic()
    with pytest.raises(FojaError):
        await connect(url)
    assert time.monotonic() - began < SOON


async def test_the_doctor_says_that_it_is_silent(url: str) -> None:
    [found] = await check_database(Settings(database_url=url))
    assert found.status == "fail"
    assert "timeout" in found.found


async def test_the_heartbeat_of_a_worker_waits_as_long_as_the_settings_say(
    open_app: Callable[..., App],
) -> None:
    """It waited for 15 seconds, whatever FOJA_ANSWER_SECONDS was."""
    async with open_app(answer_seconds=7) as app:
        heartbeat = Heartbeat(app.workers.queue("run-tsa").database)
        assert await heartbeat.beat([]) == set()
        assert heartbeat._connection is not None
        assert heartbeat._connection.answer_seconds == 7
        heartbeat.close()
