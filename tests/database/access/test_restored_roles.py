"""Roles that are missing after a restore, and an administrator that is not a superuser."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

import foja
from foja.domains.registration import prepare
from foja.engine.embedded.postgres import start, stop
from foja.engine.sql.access import repair
from foja.engine.sql.migrate import session
from foja.errors import MigrationFailed
from tests.conftest import FAST
from tests.flow.command import FOJA

ROLES = "select array_agg(rolname::text) from pg_roles where rolname ~ '^(foja_|service_role|anon|authent)'"
RIGHTS = """select c.relname::text, array(select unnest(c.relacl)::text order by 1) from pg_class c
    where c.relnamespace = 'foja'::regnamespace union all
    select p.oid::regprocedure::text, array(select unnest(p.proacl)::text order by 1) from pg_proc p
    where p.pronamespace = 'foja'::regnamespace union all
    select format('%s on %s', polname, polrelid::regclass),
        array(select r::regrole::text from unnest(polroles) r order by 1) from pg_policy order by 1"""


async def use(url: str, home: Path) -> None:
    """Append, protect and work as a user of this database."""
    async with foja.connect(database_url=url, home=home) as app:
        talk = await app.conversations.open()
        await talk.append("thinking", {"content": "x"})
        await app.work(until_idle=True)


async def test_roles_are_restored_and_adopted(tmp_path: Path) -> None:
    """Migrate recreates what a restore without roles lacks. CREATEROLE is enough for all of it."""
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        server = await asyncio.to_thread(start, Path(folder), options=FAST)
        try:
            with psycopg.connect(server.url, autocommit=True) as conn:
                conn.execute("create role manager login createrole")
                conn.execute("create database managed owner manager")
                conn.execute("grant create on database managed to manager")
            url = urlsplit(server.url)._replace(netloc="manager@", path="/managed").geturl()
            await prepare(url)
            await use(url, tmp_path / "home")
            rights, lost = await asyncio.to_thread(
                lose_roles, urlsplit(server.url)._replace(path="/managed").geturl()
            )
            assert "foja_api" in lost
            said: list[str] = []
            await prepare(url, report=said.append)
            assert "foja_api" in said[0]
            with psycopg.connect(url) as conn:
                assert conn.execute(RIGHTS.encode()).fetchall() == rights
            await use(url, tmp_path / "home")
            await back_up_and_restore(server.url, url, tmp_path)
        finally:
            await asyncio.to_thread(stop, Path(folder), "immediate")


async def back_up_and_restore(server: str, url: str, folder: Path) -> None:
    """Do both as that administrator; the server that restores has none of the roles."""
    environment = {**os.environ, "FOJA_DATABASE_URL": url, "FOJA_HOME": str(folder / "home")}
    await asyncio.to_thread(foja_command, environment, "backup", "-o", folder / "b.tar")
    await asyncio.to_thread(lose_roles, urlsplit(server)._replace(path="/managed").geturl())
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute("drop database managed")
        conn.execute("create database managed owner manager")
    environment |= {"FOJA_HOME": str(folder / "new")}
    await asyncio.to_thread(foja_command, environment, "restore", folder / "b.tar")
    await use(url, folder / "new")
    await asyncio.to_thread(foja_command, environment, "fsck", "--tiles")


def foja_command(environment: dict[str, str], *words: object) -> None:
    ran = subprocess.run(
        [*FOJA, *map(str, words)], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def lose_roles(url: str) -> tuple[list[Any], list[str]]:
    """Drop every role of Foja, as if the database had been restored on a new server."""
    with psycopg.connect(url, autocommit=True) as conn:
        rights = conn.execute(RIGHTS.encode()).fetchall()
        [(roles,)] = conn.execute(ROLES.encode()).fetchall()
        for role in roles:
            conn.execute(f"drop owned by {role}".encode())
        for role in roles:
            conn.execute(f"drop role {role}".encode())
    return rights, roles


async def test_everything_that_is_missing_is_named_at_once(
    database_url: str, admin: psycopg.Connection[Any]
) -> None:
    """Where the roles belong to another administrator, one message has the one grant that is needed."""
    admin.execute("create role other_manager login createrole")
    admin.execute("alter schema foja owner to other_manager")
    admin.execute("grant select on foja.source, foja.job_type to other_manager")
    admin.execute("grant execute on function foja.adopt_roles to other_manager")
    url = urlsplit(database_url)._replace(netloc="other_manager@").geturl()
    advice = r"grant foja_access, foja_api, .*foja_sweeper.* to other_manager"
    try:
        with pytest.raises(MigrationFailed, match=advice):
            async with session(url) as conn:
                await repair(conn)
    finally:
        admin.execute("alter schema foja owner to current_user")
        admin.execute("drop owned by other_manager")
        admin.execute("drop role other_manager")
