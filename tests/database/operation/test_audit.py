"""audit: every kind of finding is reported, and a healthy busy system has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.engine.observe.audit import audit
from foja.engine.observe.findings import CheckReport
from tests.database.schema.load import busy
from tests.database.schema.rows import disarm, rearm
from tests.plans.filled import Copied

TALK = UUID(int=0xA)
LIMIT = 60.0


@pytest.fixture(scope="module")
def written(copied: Copied, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with a history, without connections."""
    home = tmp_path_factory.mktemp("audit")

    async def write(url: str) -> None:
        async with foja.connect(database_url=url, home=home) as app:
            await write_history(app)

    with copied(template) as url, ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, write(url)).result()
        yield urlsplit(url).path[1:]


@pytest.fixture
def database_url(request: pytest.FixtureRequest, copied: Copied, template: str) -> Iterator[str]:
    """The URL of a copy of it, for whoever changes it; else that of a fresh database."""
    with copied(
        request.getfixturevalue("written") if "intruder" in request.fixturenames else template
    ) as url:
        yield url


@pytest.fixture
def intruder(admin: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """The connection of who changes it; the history was written this moment."""
    disarm(admin)
    admin.execute("update foja.event set at = clock_timestamp()")
    admin.execute(
        "update foja.checkpoint set signed_at = clock_timestamp(), published_at = clock_timestamp()"
    )
    return admin


async def write_history(app: App) -> None:
    """Write six events in the log, one in the outbox, an open slot, and one above it."""
    talk = await app.conversations.open(TALK)
    for turn in range(6):
        await talk.append("user_message_sent", {"content": f"{turn}"})
    await app.work(until_idle=True)
    await talk.append("thinking", {"content": "hm"})
    await talk.reserve(1, ttl=3600)
    await talk.append("agent_message_sent", {"content": "done"})


async def check(url: str) -> CheckReport:
    """Enable the guards again, as an intruder would, and run the audit."""
    with psycopg.connect(url, autocommit=True) as conn:
        rearm(conn)
    return await audit(url, max_lag_seconds=LIMIT)


async def test_a_disabled_guard_is_reported(intruder: psycopg.Connection[Any], database_url: str) -> None:
    rearm(intruder)
    intruder.execute("alter table foja.event disable trigger event_update")
    intruder.execute("alter table foja.leaves enable trigger leaf_change")
    intruder.execute("drop trigger checkpoint_delete on foja.checkpoint")
    report = await audit(database_url, max_lag_seconds=LIMIT)
    assert [(f.check, f.found) for f in report.findings] == [
        ("guard", "disabled"),
        ("guard", "enabled in some sessions"),
        ("guard", "missing"),
    ]


async def test_a_healthy_ledger_has_no_findings(intruder: psycopg.Connection[Any], database_url: str) -> None:
    report = await check(database_url)
    assert report.clean, report
    assert report.counts == {"streams": 1, "waiting": 1, "open_slots": 1}


OLD = "at = at - interval '2 minutes'"
PAST = "published_at = published_at - interval '2 minutes'"
VOIDED = "update foja.event set kind = 'slot.voided' where seq = 3"
UNSEALED = f"""delete from foja.pending;
    insert into foja.unsealed select '{TALK}', 6;
    update foja.entity set sealed = 6;
    update foja.event set {OLD} where seq = 6"""
NUMBERED = """with sealed as (delete from foja.pending returning entity_id, seq, chain_hash)
    insert into foja.leaf select 1, 6, entity_id[1], seq[1], chain_hash[1] from sealed;
    update foja.log set next_idx = 7"""


@pytest.mark.parametrize(
    ("check_name", "seq", "statement"),
    [
        ("gap", 3, "delete from foja.event where seq = 3"),
        ("gap", 0, "delete from foja.event where seq < 3"),
        ("gap", 7, f"delete from foja.slot; update foja.event set {OLD}"),
        ("end", 7, "delete from foja.event where seq > 6; delete from foja.slot"),
        ("end", 0, "delete from foja.event; delete from foja.slot"),
        ("head", 6, "update foja.entity set head = sha256('x')"),
        ("head", 6, "update foja.pending set chain_hash = array[sha256('x')]"),
        ("head", 6, "delete from foja.pending"),
        ("correlation", 3, "update foja.event set tenant = 'other' where seq = 3"),
        ("correlation", 3, "update foja.event set kind = 'nonsense' where seq = 3"),
        ("correlation", 3, "update foja.event set v = 2 where seq = 3"),
        ("correlation", 3, "update foja.event set source = 'sweeper' where seq = 3"),
        ("correlation", 0, "delete from foja.entity"),
        ("voided", 3, VOIDED),
        ("voided", 3, "insert into foja.voided select entity_id, seq, tenant from foja.event where seq = 3"),
        ("voided", 3, f"{VOIDED}; insert into foja.voided select entity_id, 3, 'other' from foja.entity"),
        ("slot", 7, "update foja.slot set deadline = now() - interval '6 seconds'"),
        ("lag", 6, f"update foja.event set {OLD} where seq <= 6"),
        ("lag", 6, UNSEALED),
        ("lag", 6, f"{NUMBERED}; update foja.event set {OLD}; update foja.checkpoint set {PAST}"),
        ("lag", 0, f"delete from foja.checkpoint; update foja.event set {OLD}"),
    ],
)
async def test_each_change_is_reported(
    check_name: str, seq: int, statement: str, intruder: psycopg.Connection[Any], database_url: str
) -> None:
    intruder.execute(statement.encode())
    report = await check(database_url)
    assert (check_name, TALK, seq) in [(f.check, f.entity_id, f.seq) for f in report.findings], report


async def test_a_duplicate_number_is_reported(intruder: psycopg.Connection[Any], database_url: str) -> None:
    intruder.execute("alter table foja.event drop constraint event_pkey")
    intruder.execute("alter table foja.event drop constraint event_id_key")
    intruder.execute("insert into foja.event select * from foja.event where seq = 3")
    report = await check(database_url)
    assert [(f.check, f.seq) for f in report.findings] == [("duplicate", 3)]


@pytest.mark.parametrize(
    ("name", "text", "statement"),
    [
        ("halted", "halted: broken", "update foja.log set halted = 'broken'"),
        ("log", "8 leaves", "update foja.log set next_idx = 8"),
        (
            "lag",
            "unpublished",
            "update foja.checkpoint set published_at = null, signed_at = now() - interval '2 minutes'",
        ),
    ],
)
async def test_a_faulty_log_is_reported(
    name: str, text: str, statement: str, intruder: psycopg.Connection[Any], database_url: str
) -> None:
    intruder.execute(statement.encode())
    report = await check(database_url)
    assert [f.check for f in report.findings] == [name], report
    assert text in str(report.first)


async def test_an_old_event_that_was_just_sealed_is_not_reported_as_lag(
    app: App, admin: psycopg.Connection[Any], database_url: str
) -> None:
    """An event above a hole may be old when the hole is filled."""
    await write_history(app)
    intruder = disarm(admin)
    intruder.execute(f"update foja.event set {OLD} where seq <> 7".encode())
    intruder.execute("delete from foja.pending")
    intruder.execute(
        "update foja.entity set sealed = 6, head = (select chain_hash from foja.leaf where seq = 5)"
    )
    intruder.execute("insert into foja.unsealed select entity_id, 6 from foja.entity")
    intruder.execute("update foja.slot set deadline = now()")
    intruder.execute("update foja.event set at = now() where seq = 6")
    while await app.sequencer.sweep():
        pass
    report = await check(database_url)
    assert report.clean, report
    assert report.counts["waiting"] == 3


async def test_a_new_hole_above_the_sealed_prefix_is_not_reported_as_gap(
    intruder: psycopg.Connection[Any], database_url: str
) -> None:
    intruder.execute("delete from foja.slot")
    report = await check(database_url)
    assert report.clean, report


async def test_a_busy_healthy_system_has_no_findings(app: App, database_url: str) -> None:
    async with busy(app):
        for _ in range(10):
            await asyncio.sleep(0.1)
            report = await audit(database_url, max_lag_seconds=5)
            assert report.clean, report
