"""Keys and tokens when something fails: a lost answer, a database away, a check that is overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.errors import LedgerUnavailable, NotAuthenticated, RoleMissing, Unavailable
from foja.interfaces.web.server import bind, serving
from foja.pure.models.access.grant import Grant
from tests.faults.proxy import Moment, wired

Admin = psycopg.Connection[Any]


def actions(admin: Admin) -> list[str]:
    rows = admin.execute(
        "select payload ->> 'action' from foja.event where kind = 'access.changed' order by seq"
    )
    return [action for (action,) in rows]


async def use_for_ever(app: App, key: str) -> None:
    while True:
        await app.access.bearer(key)
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_revocation_whose_answer_is_lost_can_be_repeated(
    open_app: Callable[..., App], database_url: str, admin: Admin, moment: Moment
) -> None:
    async with wired(database_url) as wire, open_app(database_url=wire.url) as app:
        key = await app.access.keys.create("default", ["read"])
        wire.cut("revoke_key_v1", moment)
        with pytest.raises(LedgerUnavailable):
            await app.access.keys.revoke(key.id, actor="ana")
        assert wire.cuts == 1
        assert (await app.access.keys.revoke(key.id, actor="ana")).revoked == (moment == "before")
        with pytest.raises(NotAuthenticated):
            await app.access.bearer(key.text)
        assert actions(admin) == ["key.created", "key.revoked"]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_key_whose_answer_is_lost_was_made_whole_or_not_at_all(
    open_app: Callable[..., App], database_url: str, admin: Admin, moment: Moment
) -> None:
    async with wired(database_url) as wire, open_app(database_url=wire.url) as app:
        wire.cut("create_key_v1", moment)
        with pytest.raises(LedgerUnavailable):
            await app.access.keys.create("default", ["read"])
        made = moment == "after"
        assert len(await app.access.keys.list()) == made
        assert actions(admin) == ["key.created"] * made
        assert await app.access.required() == made


async def test_nothing_remembered_counts_while_the_database_is_away(
    open_app: Callable[..., App], database_url: str
) -> None:
    async with wired(database_url) as wire, open_app(database_url=wire.url) as app:
        await app.access.open()
        key = await app.access.keys.create("default", ["read"])
        assert (await app.access.bearer(key.text)).credential == "key"
        wire.cut("", "before", times=1_000_000)
        with pytest.raises(Unavailable):
            await use_for_ever(app, key.text)
        wire.cut("", "before", times=0)
        while True:
            try:
                assert (await app.access.bearer(key.text)).credential == "key"
                break
            except Unavailable:
                await asyncio.sleep(0.05)


async def test_a_key_that_ends_while_it_is_looked_up_is_not_remembered(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.access.open()
    key = await app.access.keys.create("default", ["read"])
    find = app.access.keys.find

    async def overtaken(key_id: str, digest: bytes, version: int) -> Grant | None:
        grant = await find(key_id, digest, version)
        await app.access.keys.revoke(key.id)
        return grant

    monkeypatch.setattr(app.access.keys, "find", overtaken)
    await app.access.bearer(key.text)
    monkeypatch.undo()
    with pytest.raises(NotAuthenticated):
        await app.access.bearer(key.text)


async def test_a_lost_notification_delays_a_revocation_and_does_not_prevent_it(
    app: App, admin: Admin
) -> None:
    await app.access.open()
    key = await app.access.keys.create("default", ["read"])
    grant = await app.access.bearer(key.text)
    with app.access.use(grant) as ended:
        admin.execute("update foja.access_key set revoked_at = now()")
        admin.execute("update foja.access_version set version = version + 1")  # and no notification
        await asyncio.wait_for(ended.wait(), 60)
    with pytest.raises(NotAuthenticated):
        await app.access.bearer(key.text)


async def test_a_stream_that_opens_as_its_key_ends_is_ended_too(app: App) -> None:
    await app.access.open()
    key = await app.access.keys.create("default", ["read"])
    grant = await app.access.bearer(key.text)
    await app.access.keys.revoke(key.id)
    with app.access.use(grant) as ended:  # checked before, opened after
        await asyncio.wait_for(ended.wait(), 60)


async def test_local_use_ends_with_the_first_key(app: App) -> None:
    await app.access.open()
    assert not await app.access.required()
    with app.access.use(app.access.local()) as ended:
        assert not ended.is_set()
        await app.access.keys.create("default", ["read"])
        await asyncio.wait_for(ended.wait(), 60)


async def test_a_server_that_may_not_check_keys_does_not_start(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """It has no other role to fall back to: `foja_api` may neither check keys nor read them."""
    async with open_app():
        pass
    name = f"weak_{uuid4().hex[:12]}"
    admin.execute(f"create role {name} login password 'x'")
    admin.execute(f"grant foja_api, foja_sweeper, foja_hygiene to {name}")
    try:
        url = psycopg.conninfo.make_conninfo(database_url, user=name, password="x")
        async with open_app(database_url=url) as app:
            with pytest.raises(RoleMissing, match="foja_access"):
                await serve(app)
        for statement in ("select * from foja.access_secret", "select * from foja.find_key_v1('x')"):
            conn = psycopg.connect(url, options="-c role=foja_api")
            with conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement)
    finally:
        admin.execute(f"drop owned by {name}; drop role {name}")


async def serve(app: App) -> None:
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with serving(app, listener):
            pass
