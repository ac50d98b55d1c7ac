"""What operators do is recorded with their name, in the stream of the tenant or of the installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.errors import UnknownJob
from tests.job_domain import ERRAND, RUN

Admin = psycopg.Connection[Any]
KEY_ROTATED = '{"key_id": "k", "purpose": "rekor"}'


def acts(admin: Admin) -> list[tuple[Any, ...]]:
    """Return what was recorded about jobs: tenant, actor, action, and the type or the number of jobs."""
    return admin.execute(
        "select tenant, actor, payload ->> 'action', coalesce(payload ->> 'type', payload ->> 'count')"
        " from foja.event where kind = 'job.changed' order by at, tenant, seq"
    ).fetchall()


def jobs(admin: Admin) -> list[int]:
    return [job for (job,) in admin.execute("select job_id from foja.job order by job_id")]


async def enqueue(app: App) -> UUID:
    stream = await app.streams(ERRAND).open()
    await stream.append("errand.asked", {"what": "x"})
    await app.jobs.enqueue(RUN, stream.id, key="once")
    return stream.id


async def test_what_an_operator_does_about_jobs_is_recorded(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app(domains=[ERRAND], tenant="acme") as app:
        await enqueue(app)
        [job] = [each.id for each in await app.jobs.list(job_type=RUN)]
        await app.jobs.pause(RUN, actor="ana")
        await app.jobs.pause(RUN, actor="ana")  # it is paused already: nothing was done
        await app.jobs.resume(RUN, actor="eva")
        assert (await app.jobs.cancel([job], actor="bea")).done == 1
        assert (await app.jobs.cancel([job], actor="bea")).done == 0
        with pytest.raises(UnknownJob):
            await app.jobs.pause("no_such_type", actor="ana")
    assert acts(admin) == [
        ("system", "ana", "pause", RUN),
        ("system", "eva", "resume", RUN),
        ("acme", "bea", "cancel", "1"),
    ]


async def test_a_dead_job_is_retried_by_name(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app(domains=[ERRAND]) as app:
        await enqueue(app)
        admin.execute("update foja.job set state = 'dead', finished_at = now() where type = %s", [RUN])
        [job] = [each.id for each in await app.jobs.list(job_type=RUN)]
        assert (await app.jobs.retry([job], actor="key:1")).done == 1
    assert acts(admin) == [("default", "key:1", "retry", "1")]
    [(payload,)] = admin.execute("select payload from foja.event where kind = 'job.changed'").fetchall()
    assert (payload["jobs"][0]["id"], payload["jobs"][0]["type"]) == (job, RUN)


async def test_a_job_of_another_tenant_is_unknown_and_stays(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app(domains=[ERRAND], tenant="acme") as acme, open_app(tenant="other") as other:
        await enqueue(acme)
        found = jobs(admin)
        with pytest.raises(UnknownJob):
            await other.jobs.cancel(found, actor="eve")
    with psycopg.connect(admin.info.dsn, password=admin.info.password, autocommit=True) as conn:
        conn.execute("set role foja_api")
        with pytest.raises(psycopg.DatabaseError, match="unknown_job"):
            conn.execute("select foja.change_jobs_v1('cancel', %s, 'other', 'eve')", [found])
    assert acts(admin) == []


async def test_the_stream_of_a_tenant_has_nothing_of_the_installation(app: App, admin: Admin) -> None:
    await app.access.keys.create("acme", ["read"], actor="ana")
    [(stream,)] = admin.execute("select entity_id from foja.system_stream where tenant = 'acme'").fetchall()
    for entity, domain, kind, payload, tenant in (
        (stream, "system", "key.rotated", KEY_ROTATED, "acme"),  # only the installation has it
        (stream, "system", "key.rotated", KEY_ROTATED, "system"),
        (stream, "conversation", "user_message_sent", '{"content": "x"}', "acme"),
        (uuid4(), "system", "job.changed", '{"action": "x"}', "acme"),
        (uuid4(), "system", "job.changed", '{"action": "x"}', "unknown"),
        (app.system.id, "system", "job.changed", '{"action": "x"}', "acme"),
    ):
        with pytest.raises(psycopg.DatabaseError, match="wrong_entity"):
            admin.execute(
                "select foja.append_event(%s, %s, %s, %s::jsonb, tenant => %s)",
                [entity, domain, kind, payload, tenant],
            )
    with pytest.raises(psycopg.DatabaseError, match="wrong_source"):
        admin.execute(
            "select foja.append_event(%s, 'system', 'access.changed', %s::jsonb, 'access', tenant => 'acme')",
            [stream, '{"action": "key.created", "tenant": "acme"}'],
        )
    assert admin.execute("select count(*) from foja.event").fetchone() == (1,)


async def test_no_role_reads_a_hash_and_only_access_calls_its_functions(app: App, admin: Admin) -> None:
    key = await app.access.keys.create("default", ["read"])
    query = "select rolname from pg_roles where rolname ~ '^(foja_|anon|auth|service)'"
    roles = [name for (name,) in admin.execute(query)]
    for role in roles:
        for table in ("access_key", "access_secret", "access_session"):
            query = "select has_table_privilege(%s, 'foja.' || %s, 'select, insert, update, delete')"
            rights = admin.execute(query, [role, table]).fetchone()
            assert rights == (False,), (role, table)
    for role in set(roles) - {"foja_access"}:
        admin.execute(f"set role {role}")
        with pytest.raises(psycopg.DatabaseError, match=r"wrong_source|permission denied"):
            admin.execute("select * from foja.find_key_v1(%s)", [key.id])
        admin.execute("reset role")
