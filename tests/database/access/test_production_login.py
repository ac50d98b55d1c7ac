"""The production login: no superuser, owner of nothing, and with no right before it takes a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

import foja
from foja.app import App
from foja.engine.observe.overview import read_overview
from foja.errors import RoleMissing, UnknownEntity
from tests.database.access.two_tenants import SAY, two_tenants
from tests.database.schema.catalogue import Visitor, walk
from tests.database.schema.rows import Admin
from tests.png import png

CREATE = "create role {} login noinherit nosuperuser nocreatedb nocreaterole nobypassrls"


@pytest.fixture
def production(admin: Admin, database_url: str) -> Iterator[str]:
    """The URL of a login as docs/operations.md creates it, on a database that is migrated."""
    name = sql.Identifier(login := f"foja_app_{uuid4().hex[:8]}")
    admin.execute(sql.SQL(CREATE).format(name))
    roles = [
        role for (role,) in admin.execute("select role from foja.source union select role from foja.job_type")
    ]
    for role in {"foja_api", "foja_sweeper", *roles}:
        admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), name))
    yield urlsplit(database_url)._replace(netloc=f"{login}@").geturl()
    admin.execute(sql.SQL("drop owned by {}").format(name))
    admin.execute(sql.SQL("drop role {}").format(name))


async def test_everything_works_through_the_production_login(
    open_app: Callable[..., App], production: str
) -> None:
    """Two tenants write, workers work, a document is protected and its bundle passes."""
    async with open_app(database_url=production) as app:
        scene = await two_tenants(app)
        await app.work(until_idle=True)
        view = await scene.bob.documents.view(scene.document)
        assert view.state == "final"
        report = foja.verify(await scene.bob.documents.bundle(scene.document), trust=app.trust)
        assert report.verdict == "TOTAL_PASSED"
        assert (await scene.talk.prove(0)).verify(app.trust).verdict == "TOTAL_PASSED"
        with pytest.raises(UnknownEntity):
            await (await scene.ana.conversations.open(scene.talk.id)).append(SAY, {"content": "x"})
        assert (await scene.bob.images.image(scene.product, scene.image)).variants


def test_before_it_takes_a_role_it_can_do_nothing(production: str, admin: Admin) -> None:
    login = urlsplit(production).username or ""
    with closing(psycopg.connect(production, autocommit=True)) as conn:
        for statement in ("select from foja.event", "select from public.products", "select foja.recognise()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement.encode())
    assert walk(admin, Visitor(login), []) == set()


def test_its_role_reads_nothing_until_it_names_a_tenant(production: str, admin: Admin) -> None:
    admin.execute("""select foja.append_event(
        gen_random_uuid(), 'conversation', 'thinking', '{"content": "x"}', tenant => 'ana')""")
    with closing(psycopg.connect(production, autocommit=True)) as conn:
        conn.execute("set role foja_api")
        assert count(conn) == 0
        conn.execute("set foja.tenant = 'bob'")
        assert count(conn) == 0
        conn.execute("set foja.tenant = 'ana'")
        assert count(conn) == 1
        conn.execute("set foja.tenant = ''")
        assert count(conn) == 0


def count(conn: psycopg.Connection[Any]) -> int:
    [(found,)] = conn.execute("select count(*) from foja.event").fetchall()
    return int(found)


@pytest.mark.parametrize("owned", ["foja.event", "foja.entity", "foja.job"])
def test_an_owner_without_a_policy_reads_nothing(admin: Admin, owned: str) -> None:
    """Row level security is forced: a table that changes hands shows its new owner no row."""
    admin.execute(
        """select foja.append_event(gen_random_uuid(), 'conversation', 'thinking', '{"content": "x"}')"""
    )
    name = sql.Identifier(f"owner_{uuid4().hex[:8]}")
    with admin.transaction(force_rollback=True):
        admin.execute(sql.SQL("create role {}").format(name))
        admin.execute(sql.SQL("grant usage on schema foja to {}").format(name))
        admin.execute(sql.SQL("alter table {} owner to {}").format(sql.Identifier(*owned.split(".")), name))
        admin.execute(sql.SQL("set local role {}").format(name))
        assert admin.execute(f"select count(*) from {owned}".encode()).fetchone() == (0,)


async def test_a_process_that_only_serves_needs_no_role_of_the_sequencer(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """Web processes had the role that numbers and signs, and used it to read readiness and metrics."""
    async with open_app() as whole:
        scene = await two_tenants(whole)
        await whole.publish()
    name = sql.Identifier(login := f"foja_web_{uuid4().hex[:8]}")
    admin.execute(sql.SQL(CREATE).format(name))
    admin.execute(sql.SQL("grant foja_api, foja_operator, foja_access to {}").format(name))
    url = urlsplit(database_url)._replace(netloc=f"{login}@").geturl()
    async with open_app(database_url=url) as app:
        ready = await app.readiness.check()
        assert (ready.status, ready.missing) == ("ok", {})
        await read_overview(app.reader, "bob")
        await app.metrics.read()
        assert not app.metrics.failed
        await app.alerts.evaluate()
        await app.jobs.pause("run_tsa", actor="ops")
        assert await app.jobs.paused() == ["run_tsa"]
        await app.jobs.resume("run_tsa", actor="ops")
        bob = app.tenant("bob")
        await bob.images.add(scene.product, png(red=9))
        await bob.documents.add(b"new", name="new.txt")
        talk = await bob.conversations.open(scene.talk.id)
        assert (await talk.prove(0)).verify(app.trust).verdict == "TOTAL_PASSED"
        with pytest.raises(RoleMissing, match="foja_sweeper"):
            await app.publish()
        with pytest.raises(RoleMissing, match="foja_sweeper"):
            await app.sequencer.restart()
    admin.execute(sql.SQL("drop owned by {}").format(name))
    admin.execute(sql.SQL("drop role {}").format(name))


def test_the_role_that_reads_changes_nothing(admin: Admin) -> None:
    rows = admin.execute(
        """select c.oid::regclass::text from pg_class c
        where c.relkind in ('r', 'v') and c.relnamespace in ('foja'::regnamespace, 'public'::regnamespace)
            and has_table_privilege('foja_reader', c.oid, 'insert, update, delete, truncate')
        union all
        select p.oid::regprocedure::text from pg_proc p
        where p.pronamespace in ('foja'::regnamespace, 'public'::regnamespace) and p.provolatile = 'v'
            and p.prosecdef and has_function_privilege('foja_reader', p.oid, 'execute')"""
    ).fetchall()
    assert rows == []
