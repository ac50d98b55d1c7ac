"""A login without any grant can listen, notify and take advisory locks. It gains and stops nothing."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from foja.app import App
from foja.domains.registration import prepare
from foja.engine.ledger.event import Transient
from foja.engine.ledger.live.pubsub import split
from foja.engine.ledger.live.transient import pack
from foja.engine.sql.migrate import MIGRATION_LOCK, migrate
from foja.errors import LedgerUnavailable, MigrationFailed
from tests.flow.client.client import served

LATEST = 30.0
Admin = psycopg.Connection[Any]


@pytest.fixture
def stranger(admin: Admin, database_url: str) -> Iterator[Admin]:
    """The connection of a login without grants."""
    name = f"stranger_{secrets.token_hex(4)}"
    admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    url = urlsplit(database_url)._replace(netloc=f"{name}@").geturl()
    with psycopg.connect(url, autocommit=True, application_name="curious") as conn:
        yield conn
    admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


async def test_a_login_without_grants_reads_and_forges_no_chunk(
    open_app: Callable[..., App], stranger: Admin
) -> None:
    """Chunks in notifications are sealed with a key that only the right roles can read."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute("select key from foja.live_key")
    stranger.execute("listen foja_transients")
    async with open_app() as sender, open_app() as follower:
        talk = await sender.conversations.open()
        await talk.append("thinking", {"content": "first"})
        received: list[str] = []

        async def listen() -> None:
            async for event in (await follower.conversations.open(talk.id)).follow():
                if isinstance(event, Transient):
                    received.append(event.payload["text"])

        listening = asyncio.create_task(listen())
        chunk = Transient(talk.id, uuid4(), "message_chunk", datetime.now(UTC), 1, 0, 0, {"text": "forged"})
        forged = pack("stranger", 1, "default", [chunk])
        async with asyncio.timeout(LATEST):
            while "secret words" not in received:
                for part in [*split(1, forged), "1/0/999999999:x", "odd", *split(2, "AAAA")]:
                    stranger.execute("select pg_notify('foja_transients', %s)", [part])
                await talk.emit(
                    "message_chunk", {"text": "secret words"}, turn=1, block_index=0, event_index=0
                )
                await asyncio.sleep(0.1)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    assert set(received) == {"secret words"}
    heard = [notice.payload for notice in stranger.notifies(timeout=2, stop_after=50)]
    assert heard
    assert not any("secret" in text for text in heard)


async def test_a_held_migration_lock_stops_no_start(open_app: Callable[..., App], stranger: Admin) -> None:
    """A start that has nothing to migrate waits for no lock."""
    stranger.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
    stranger.execute("select pg_advisory_lock(hashtextextended('foja/registry', 0))")
    async with asyncio.timeout(LATEST), open_app() as app:
        await app.work(until_idle=True)


async def test_a_migration_that_waits_names_who_holds_the_lock(
    admin: Admin, database_url: str, stranger: Admin
) -> None:
    """The wait is bounded, and the message says whom to end."""
    stranger.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
    said: list[str] = []
    with pytest.raises(MigrationFailed, match=f"curious as stranger_.*pid {stranger.info.backend_pid}"):
        await migrate(database_url, 8, said.append, patience=0.2)
    assert "curious" in said[0]
    stranger.execute("select pg_advisory_unlock_all()")
    await migrate(database_url, 8)
    await prepare(database_url)


async def test_a_full_lock_table_refuses_appends_until_its_holder_is_gone(
    open_app: Callable[..., App], stranger: Admin
) -> None:
    """A session without any grant takes as many advisory locks as the server has room for.

    The refusal is typed and retryable, and the next append after it is recorded.
    """
    async with open_app(retry_seconds=0.2) as app:
        talk = await app.conversations.open()
        await talk.append("thinking", {"content": "before"})
        with pytest.raises(psycopg.errors.OutOfMemory):
            stranger.execute("select count(pg_advisory_lock(n)) from generate_series(1, 10000000) n")
        with pytest.raises(LedgerUnavailable, match="out of shared memory") as refused:
            await talk.append("thinking", {"content": "refused"})
        assert refused.value.retryable
        stranger.execute("select pg_advisory_unlock_all()")
        assert (await talk.append("thinking", {"content": "after"})).seq == 1


async def test_a_full_lock_table_is_named_by_readiness_until_it_has_room_again(
    open_app: Callable[..., App], stranger: Admin
) -> None:
    """`/readyz` stayed 200 while every append was refused."""
    async with open_app(retry_seconds=0.2, health_seconds=1.0) as app, served(app) as client:
        talk = await app.conversations.open()
        await talk.append("thinking", {"content": "before"})
        assert await readiness_of(client, 200) == {"state": "works"}
        with pytest.raises(psycopg.errors.OutOfMemory):
            stranger.execute("select count(pg_advisory_lock(n)) from generate_series(1, 10000000) n")
        began = datetime.now(UTC)
        with pytest.raises(LedgerUnavailable, match="out of shared memory"):
            await talk.append("thinking", {"content": "refused"})
        failing = await readiness_of(client, 503)
        assert failing["state"] == "failing"
        assert abs(datetime.fromisoformat(failing["since"]) - began) < timedelta(seconds=LATEST)
        assert (await client.get("/healthz")).status_code == 200
        stranger.execute("select pg_advisory_unlock_all()")
        assert await readiness_of(client, 200) == {"state": "works"}
        await talk.append("thinking", {"content": "after"})


async def readiness_of(client: httpx.AsyncClient, status: int) -> dict[str, Any]:
    """Wait until `/readyz` has this status; return what it says of the database."""
    async with asyncio.timeout(LATEST):
        while (answer := await client.get("/readyz")).status_code != status:
            await asyncio.sleep(0.2)
    said: dict[str, Any] = answer.json()["parts"]["database"]
    return {"state": said["state"]} | ({"since": said["since"]} if status == 503 else {})
