"""A database that is frozen: its server takes connections and answers nothing."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import foja
from foja.engine.observe.readiness import CACHE_SECONDS
from tests.faults.ledger.replicated import Server, running_server
from tests.flow.client.client import served

SOON = 15.0  # seconds, on a machine that is busy; a quiet one needs three


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


async def ask(client: httpx.AsyncClient, path: str, host: str = "localhost") -> httpx.Response:
    """Return the answer of a probe, which comes soon."""
    began = time.monotonic()
    answer = await client.get(path, headers={"host": host})
    assert time.monotonic() - began < SOON, path
    return answer


async def until_ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while (await client.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.2)


@pytest.mark.timeout(300)
async def test_probes_answer_soon_while_the_database_is_frozen(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`/readyz` took up to 35 seconds: who stops waiting for psycopg waits for its cancellation as well."""
    async with foja.connect(database_url=server.url, home=tmp_path / "home") as app, served(app) as client:
        await until_ready(client)
        with server.stopped():
            await asyncio.sleep(CACHE_SECONDS)
            for _ in range(3):
                ready = await ask(client, "/readyz")
                assert ready.status_code == 503
                parts = ready.json()["parts"]
                assert parts["database"]["detail"] == "no answer within 3 seconds"
                assert parts["database"]["since"]
                assert parts["store"]["ok"]
                assert "authority:local" in parts
                alive = await ask(client, "/healthz")
                assert (alive.status_code, alive.json()["code"]) == (503, "ledger_unavailable")
                detail = "the database does not answer within 3 seconds; try again"
                assert alive.json()["detail"] == detail
            assert (await ask(client, "/readyz", "10.0.0.7")).status_code == 503
            together = await asyncio.gather(*(ask(client, "/readyz") for _ in range(40)))
            assert {answer.status_code for answer in together} == {503}
        await until_ready(client)
        async with asyncio.timeout(60):
            while any(each._pool._open != len(each._pool._idle) for each in (app.database, app.reader)):
                await asyncio.sleep(0.2)
    gc.collect()
    assert not [each.getMessage() for each in caplog.records if each.name == "asyncio"]
