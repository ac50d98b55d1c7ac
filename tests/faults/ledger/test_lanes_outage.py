"""Redis and PostgreSQL both stop: no event is numbered, none is lost, and all writers continue."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import foja
from foja.engine.embedded.postgres import PostgresServer, start, stop
from foja.engine.sql.migrate import migrate
from foja.errors import LedgerUnavailable
from tests.conftest import FAST
from tests.faults.ledger.lane_scene import scene
from tests.races.writers import SAY, words
from tests.redis_server import RedisServer


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that may be stopped."""
    with tempfile.TemporaryDirectory(prefix="foja-test-") as home:
        yield start(Path(home), options=FAST)
        stop(Path(home), mode="immediate")


async def test_redis_and_postgresql_stopped(
    server: PostgresServer, tmp_path: Path, redis: RedisServer
) -> None:
    await migrate(server.url)
    connecting = foja.connect(database_url=server.url, home=tmp_path, redis_url=redis.url, retry_seconds=0.2)
    async with connecting as other, scene(server.url, tmp_path, redis) as stage:
        await stage.hold_slots()
        redis.stop()
        await asyncio.to_thread(stop, server, "fast")
        talk = await other.conversations.open(stage.sessions[0])
        with pytest.raises(LedgerUnavailable):
            await talk.append(SAY, words("without a number"))
        await asyncio.to_thread(start, server.data.parent, options=FAST)
        await stage.write()
        redis.start()
        await stage.on("redis")
        await stage.write()
        books = await stage.finish()
        assert set(stage.moves().values()) == {2}
        bodies = [sheet.payload or "" for sheet in books.streams[talk.id].events()]
        assert not any("without" in body for body in bodies)
