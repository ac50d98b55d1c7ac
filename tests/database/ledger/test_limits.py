"""What SQL functions refuse, also from a role that may call them: far numbers, large texts, other domains."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.observe.fsck import Outside, fsck
from foja.errors import BadPayload, TooLarge
from tests.cases import all_cases
from tests.database.schema.rows import disarm
from tests.job_domain import RUN, install

Admin = psycopg.Connection[Any]
MEGABYTE = 1_048_576
APPEND = "select foja.append_event(%(e)s, 'conversation', 'thinking', '{\"content\": \"x\"}', {more})"


@pytest.fixture
def api(admin: Admin) -> Admin:
    admin.execute("set role foja_api; set foja.tenant = 'default'")
    return admin


def refused(conn: Admin, code: str, statement: str, **values: object) -> str:
    """Return the detail with which a statement is refused."""
    with pytest.raises(psycopg.Error) as error:
        conn.execute(statement.encode(), values)
    assert (error.value.sqlstate, error.value.diag.message_primary) == ("FJ001", code)
    return error.value.diag.message_detail or ""


def appended(conn: Admin, entity: UUID) -> None:
    conn.execute(APPEND.replace("{more}", "'api'").encode(), {"e": entity})


@pytest.mark.parametrize("role", ["foja_api", "service_role"])
def test_a_slot_is_not_filled_with_an_event_of_another_domain(admin: Admin, role: str) -> None:
    """A conversation's slot refuses a kind of threads."""
    entity = uuid4()
    admin.execute(f"set role {role}; set foja.tenant = 'default'".encode())
    appended(admin, entity)
    row = admin.execute(
        "select first_seq, token from foja.reserve(%s, 'conversation', 'default', 'api', 1, '1 min', null)",
        [entity],
    ).fetchone()
    assert row
    statement = "select (foja.fill_event(%s, 'thread', %s, %s, 'checkpoint.saved', %s)).detail"
    payload = '{"namespace": "", "checkpoint_id": "c", "parent_id": null, "checkpoint": {}, "metadata": {}}'
    try:
        [(detail,)] = admin.execute(statement, [entity, *row, payload]).fetchall()
    except psycopg.Error as error:
        detail = error.diag.message_detail
    assert detail
    count = "select count(*) from foja.event where entity_id = %s and kind = 'checkpoint.saved'"
    assert admin.execute(count, [entity]).fetchone() == (0,)


async def test_fsck_checks_kinds_against_domains(app: App, admin: Admin, database_url: str) -> None:
    """An event of another domain is found, although its hash and its chain are right."""
    talk = await app.conversations.open()
    await talk.append("thinking", {"content": "x"})
    disarm(admin).execute(
        b"update foja.event set kind = 'checkpoint.saved' where entity_id = '" + str(talk.id).encode() + b"'"
    )
    report = await fsck(database_url, Outside(app.store, [app.signer.verifier()]))
    assert "kind" in {finding.check for finding in report.findings}


def on_redis(conn: Admin, entity: UUID) -> UUID:
    """Move a stream to Redis and return its fence."""
    appended(conn, entity)
    row = conn.execute(
        "select fence from foja.move_lane(%s, 'conversation', 'default', 'api', null, 'redis', 'run', '0')",
        [entity],
    ).fetchone()
    assert row
    fence: UUID = row[0]
    return fence


LANE_APPEND = """select (foja.lane_append(row(%(e)s, 'conversation', 'default', 'thinking', 1,
    gen_random_uuid(), null, 'api', '{"content":"x"}', '\\x00112233445566778899aabbccddeeff'::bytea,
    sha256('\\x03'::bytea || '\\x00112233445566778899aabbccddeeff'::bytea
        || '{"actor":null,"payload":{"content":"x"},"source":"api","v":1}'::bytea),
    null, null)::foja.draft, %(seq)s, %(fence)s)).status"""
LANE_RESERVE = """select (foja.lane_reserve(%(e)s, 'conversation', 'default', 'api', 3, '1 minute', null,
    %(seq)s, %(fence)s)).status"""
FAR = [-(2**63), -5, -3, -1, 10_002, 10**12, 2**63 - 3, 2**63 - 1]


@all_cases("statement", [LANE_APPEND, LANE_RESERVE], ids=["append", "reserve"])
@all_cases("seq", FAR)
def test_a_number_out_of_range_is_not_recorded(api: Admin, statement: str, seq: int) -> None:
    """Below 0 and beyond the window of 10,000 a number from Redis is refused; within it, accepted."""
    entity = uuid4()
    values = {"e": entity, "fence": on_redis(api, entity)}
    assert api.execute(statement.encode(), {**values, "seq": seq}).fetchone() == ("taken",)
    assert api.execute("select seq from foja.event where entity_id = %s", [entity]).fetchall() == [(0,)]
    assert api.execute("select from foja.slot where entity_id = %s", [entity]).fetchall() == []
    good = "appended" if statement == LANE_APPEND else "reserved"
    assert api.execute(statement.encode(), {**values, "seq": 1}).fetchone() == (good,)


@pytest.mark.parametrize("table", ["slot", "unsealed"])
def test_no_negative_number_by_constraint(admin: Admin, table: str) -> None:
    """Also the owner cannot record a slot or an event above a hole with a negative number."""
    values = {"slot": "gen_random_uuid(), now(), null, 'open', 'default'"}
    row = ", ".join(["gen_random_uuid()", "-1", *([values[table]] if table in values else [])])
    with pytest.raises(psycopg.errors.CheckViolation):
        admin.execute(f"insert into foja.{table} values ({row})".encode())


@all_cases("count", ["null", "0", "-1", "257"])
@all_cases("ttl", ["interval '1 minute'", "null", "interval '-1 second'"])
def test_a_reservation_out_of_range_is_refused(api: Admin, count: str, ttl: str) -> None:
    """A null is out of range, too."""
    statement = f"select foja.reserve(%(e)s, 'conversation', 'default', 'api', {count}, {ttl}, null)"
    refused(api, "bad_reservation", statement, e=uuid4())


@pytest.mark.parametrize("delay", ["interval '-1 second'", "interval '11 years'"])
def test_a_delay_out_of_range_is_refused(admin: Admin, delay: str) -> None:
    """A job runs now or within ten years."""
    install(admin)
    entity = uuid4()
    admin.execute("select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"x\"}')", [entity])
    refused(
        admin,
        "bad_payload",
        f"select foja.enqueue_job_v1(%(t)s, %(e)s, 'k', delay => {delay})",
        t=RUN,
        e=entity,
    )


@pytest.mark.parametrize("limit", ["null", "0", "-1", "10001"])
def test_a_claim_out_of_range_is_refused(admin: Admin, limit: str) -> None:
    """A claim without a limit would lease every job."""
    install(admin)
    admin.execute("set role foja_run_errand")
    refused(admin, "bad_payload", f"select foja.claim_jobs_v1(%(t)s, {limit}, 'w')", t=RUN)


def test_actor_and_key_have_limits(api: Admin) -> None:
    """1,024 bytes each, counted as UTF-8."""
    entity = uuid4()
    for name, value in (("actor", "ä" * 513), ("idempotency_key", "k" * 1025), ("actor", "a" * 20_000_000)):
        refused(api, "too_large", APPEND.replace("{more}", f"{name} => %(v)s"), e=entity, v=value)
        api.execute(APPEND.replace("{more}", f"{name} => %(v)s").encode(), {"e": entity, "v": value[:256]})
    appended(api, entity)


def test_intents_reasons_and_tenants_have_limits(api: Admin) -> None:
    """An intent 1 MiB, those of a reservation 4 MiB; a reason 1 MiB; the name of a tenant 255 bytes."""
    entity = uuid4()
    reserve = "select token from foja.reserve(%(e)s, 'conversation', %(t)s, 'api', 5, '1 min', %(i)s::text[])"
    large = '"' + "x" * (MEGABYTE - 2) + '"'
    refused(api, "too_large", reserve, e=entity, t="default", i=[large + " "])
    refused(api, "too_large", reserve, e=entity, t="default", i=[large] * 5)
    api.execute("select set_config('foja.tenant', %s, false)", ["t" * 256])
    refused(api, "too_large", reserve, e=entity, t="t" * 256, i=None)
    api.execute("set foja.tenant = 'default'")
    refused(api, "bad_reservation", reserve, e=entity, t="default", i=["1"] * 6)
    row = api.execute(reserve.encode(), {"e": entity, "t": "default", "i": [large]}).fetchone()
    assert row
    void = "select foja.void(%(e)s, 'conversation', 'default', 0, %(t)s, 'api', %(r)s)"
    refused(api, "too_large", void, e=entity, t=row[0], r="x" * (MEGABYTE + 1))
    erase = "select foja.erase(%(e)s, 'conversation', 'default', 0, 'api', null, %(r)s)"
    refused(api, "too_large", erase, e=entity, r="x" * (MEGABYTE + 1))


@all_cases("name", ["a\x1b[31m", "a\nb", "a\x7f", "a\x9bb", "a\u202eb", "a\u2028b"])
def test_the_name_of_a_tenant_has_no_control_characters(api: Admin, name: str) -> None:
    """A key was made for a tenant whose name colours the terminal of the one who lists it."""
    api.execute("select set_config('foja.tenant', %s, false)", [name])
    reserve = "select token from foja.reserve(%(e)s, 'conversation', %(t)s, 'api', 1, '1 min', null)"
    refused(api, "wrong_entity", reserve, e=uuid4(), t=name)


UNREADABLE = {
    "a list": "[]",
    "a text": '"x"',
    "null": "null",
    "a number of 5,000 digits": '{"n": 1e5000}',
    "nested deeply": '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    "20 MB": '{"a": "' + "x" * 20_000_000 + '"}',
}


@all_cases("payload", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_job_has_a_payload_that_its_worker_can_read(admin: Admin, payload: str) -> None:
    """An object of up to 1 MiB and 64 levels, with numbers that a double holds."""
    install(admin)
    entity = uuid4()
    admin.execute("select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"x\"}')", [entity])
    enqueue = "select foja.enqueue_job_v1(%(t)s, %(e)s, 'k', %(p)s::jsonb)"
    refused(admin, "bad_payload", enqueue, t=RUN, e=entity, p=payload)
    admin.execute(
        enqueue.encode(), {"t": RUN, "e": entity, "p": '{"n": 1e300, "a": [{"b": 12345678901234567890}]}'}
    )
    refused(
        admin, "too_large", "select foja.enqueue_job_v1(%(t)s, %(e)s, %(k)s)", t=RUN, e=entity, k="k" * 1025
    )


async def test_python_has_the_same_limits(app: App) -> None:
    """The same sizes are refused before the database is asked."""
    talk = await app.conversations.open()
    with pytest.raises(TooLarge):
        await talk.append("thinking", {"content": "x"}, actor="ä" * 513)
    with pytest.raises(TooLarge):
        await talk.append("thinking", {"content": "x"}, idempotency_key="k" * 1025)
    with pytest.raises(TooLarge):
        await talk.reserve(5, ttl=60, intents=["x" * (MEGABYTE - 2)] * 5)
    with pytest.raises(TooLarge):
        await app.jobs.enqueue(RUN, talk.id, key="k", payload={"x": "x" * MEGABYTE})
    with pytest.raises(BadPayload, match="1 to 1,024 bytes"):
        await app.jobs.enqueue(RUN, talk.id, key="k" * 1025)
    await talk.append("thinking", {"content": "x"}, actor="ä" * 512, idempotency_key="k" * 1024)
