"""Connections to a server that is frozen: few are attempted, and none is left when it answers again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

import foja
from foja.engine.tasks import end
from tests.faults.ledger.replicated import running_server
from tests.faults.servers.test_frozen import SOON, until_ready
from tests.flow.client.client import served

FROZEN_SECONDS = 45.0
PATHS = ("/healthz", "/readyz", "/v1/access/me", "/", "/documents", "/jobs")
AT_ONCE = 4
FEW = 4  # connections that a pool may have opened since for requests that came together
BACKENDS = "select count(*) from pg_stat_activity where backend_type = 'client backend'"


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


async def poll(client: httpx.AsyncClient) -> None:
    """Ask as probes, browsers and monitors do: each gives up after its time and asks again."""
    while True:
        for path in PATHS:
            with contextlib.suppress(httpx.HTTPError):
                await client.get(path, timeout=3, headers={"connection": "close"})


@contextlib.asynccontextmanager
async def polled(client: httpx.AsyncClient) -> AsyncIterator[None]:
    polling = [asyncio.create_task(poll(client)) for _ in range(AT_ONCE)]
    try:
        yield
    finally:
        await end(polling)


@pytest.mark.timeout(300)
async def test_a_frozen_server_leaves_no_connections_behind(tmp_path: Path) -> None:
    """After eighty seconds there were a hundred backends and descriptors more, and they stayed."""
    with running_server() as server:
        async with (
            foja.connect(database_url=server.url, home=tmp_path / "home") as app,
            served(app) as client,
        ):
            working = asyncio.create_task(app.work())
            await until_ready(client)
            async with polled(client):
                await asyncio.sleep(5)
            backends = server.ask(BACKENDS) + FEW
            files = descriptors() + FEW + 2 * AT_ONCE  # both ends of requests that are being answered
            async with polled(client):
                with server.stopped():
                    await asyncio.sleep(FROZEN_SECONDS)
                    assert descriptors() <= files
                await until_ready(client)
                await asyncio.sleep(2)
            until = time.monotonic() + SOON
            while time.monotonic() < until and (server.ask(BACKENDS) > backends or descriptors() > files):
                await asyncio.sleep(0.5)
            assert server.ask(BACKENDS) <= backends
            assert descriptors() <= files
            await end([working])
