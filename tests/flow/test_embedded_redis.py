"""The embedded Redis: started on request, shared, and stopped by its last user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from foja import metrics
from foja.app import App
from foja.embedded.redis import start
from foja.errors import SetupFailed
from tests.races.writers import SAY, words


def client(url: str) -> redis.Redis:
    found = redis.from_url(url)
    assert isinstance(found, redis.Redis)
    return found


def test_it_is_shared_and_stopped_by_its_last_user(tmp_path: Path) -> None:
    first, second = start(tmp_path), start(tmp_path)
    assert first.url == second.url
    with client(first.url) as connection:
        first.release()
        assert connection.ping()
        second.release()
        with pytest.raises(redis.ConnectionError):
            connection.ping()
    assert not Path(urlsplit(first.url).path).parent.exists()


def test_it_starts_again_after_it_was_killed(tmp_path: Path) -> None:
    first = start(tmp_path)
    with client(first.url) as connection:
        connection.shutdown(nosave=True)
    second = start(tmp_path)
    with client(second.url) as connection:
        assert connection.ping()
    second.release()
    first.release()


async def test_it_numbers_conversations(
    open_app: Callable[..., App], admin: psycopg.Connection[object]
) -> None:
    async with open_app(redis_url="embedded", redis_timeout_seconds=10) as app:
        talk = await app.conversations.open()
        assert [(await talk.append(SAY, words("x"))).seq for _ in range(3)] == [0, 1, 2]
        assert app.settings.redis_url.startswith("unix://")
    assert admin.execute("select lane from foja.entity").fetchall() == [("redis",)]
    assert b'foja_lane_moves_total{reason="enter"}' in metrics.exposition()


async def test_it_does_not_start_by_default(open_app: Callable[..., App], tmp_path: Path) -> None:
    async with open_app() as app:
        await (await app.conversations.open()).append(SAY, words("x"))
    assert not list(tmp_path.rglob("redis.*"))


async def test_the_redis_lane_needs_a_redis(open_app: Callable[..., App]) -> None:
    with pytest.raises(SetupFailed, match="set FOJA_REDIS_URL"):
        async with open_app(sequence_lane="redis"):
            pass
    with pytest.raises(SetupFailed, match="FOJA_REDIS_URL is not valid"):
        async with open_app(redis_url="http://nowhere"):
            pass
