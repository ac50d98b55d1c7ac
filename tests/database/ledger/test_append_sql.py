"""Callers that speak only SQL: the same bytes, the same keys, the same refusals."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja import errors
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import MAX_BODY, Draft
from foja.pure.core import event as core
from tests.database.schema.rows import SAID, Admin, check_stream, first_in_each, identity, rows, stored_body
from tests.drafts import BATCH, DRAFT, columns, fields

ONE: LiteralString = f"select foja.append({DRAFT})"
APPROVED = {"approval_id": "a", "decision": "approved", "reason": None}


def nested(depth: int) -> dict[str, Any]:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return {"content": "x", "deep": value}


def append_in_sql(admin: Admin, talk: Conversation, kind: str, payload: Any, **more: Any) -> tuple[Any, ...]:
    """Append as an SQL caller in the API's role; returns seq, id, at, hash and kind."""
    names = "".join(f", {name} => %({name})s" for name in more)
    call = f"foja.append_event(%(id)s, 'conversation', %(kind)s, %(payload)s{names})"
    with admin.transaction():
        admin.execute("set local role foja_api; set local foja.tenant = 'default'")
        row = admin.execute(
            f"select seq, event_id, at, body_hash from {call}".encode(),
            {"id": talk.id, "kind": kind, "payload": Jsonb(payload), **more},
        ).fetchone()
    assert row is not None
    return (*row, kind)


PAYLOAD = {"content": 'é\U0001f600\u2028"\\\b', "b": 1.5e-7, "a": [1e21, 0.1, {"\ue000": 1, "\U00010000": 2}]}


async def test_sql_and_python_write_the_same_bytes(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    append_in_sql(admin, talk, "thinking", PAYLOAD, actor="ana")
    await talk.append("thinking", PAYLOAD, actor="ana")
    by_sql, by_python = await talk.events()
    assert (by_sql.payload, by_sql.actor, by_sql.source) == (
        by_python.payload,
        by_python.actor,
        by_python.source,
    )
    for seq, event in enumerate((by_sql, by_python)):
        assert core.body_hash(*stored_body(admin, talk.id, seq)) == event.body_hash
    assert stored_body(admin, talk.id, 0)[1] == stored_body(admin, talk.id, 1)[1]
    assert by_sql.id is not None
    assert by_sql.id.version == 7
    check_stream(admin, talk, 2)


async def test_a_key_is_shared_between_sql_and_python(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    by_sql = append_in_sql(admin, talk, "thinking", PAYLOAD, actor="ana", idempotency_key="s")
    assert identity(await talk.append("thinking", PAYLOAD, actor="ana", idempotency_key="s")) == by_sql
    by_python = await talk.append("thinking", PAYLOAD, idempotency_key="p")
    assert append_in_sql(admin, talk, "thinking", PAYLOAD, idempotency_key="p") == identity(by_python)
    with pytest.raises(errors.IdempotencyConflict):
        await talk.append("thinking", SAID, actor="ana", idempotency_key="s")
    with pytest.raises(psycopg.Error) as refusal:
        append_in_sql(admin, talk, "thinking", SAID, idempotency_key="p")
    assert (refusal.value.sqlstate, refusal.value.diag.message_primary) == ("FJ001", "idempotency_conflict")
    check_stream(admin, talk, 2)


BAD_IN_SQL: list[tuple[str, Any, dict[str, Any], str]] = [
    ("shrugged", SAID, {}, "unknown_kind"),
    ("thinking", SAID, {"v": 2}, "unknown_kind"),
    ("thinking", {}, {}, "bad_payload"),
    ("thinking", None, {}, "bad_payload"),
    ("thinking", [], {}, "bad_payload"),
    ("thinking", {"content": "x", "n": 2**53}, {}, "not_canonical"),
    ("thinking", nested(64), {}, "not_canonical"),
    ("thinking", {"content": "x" * MAX_BODY}, {}, "too_large"),
    ("thinking", SAID, {"source": "sweeper"}, "wrong_source"),
    ("approval_completed", APPROVED, {"source": "sweeper"}, "wrong_source"),
    ("thinking", SAID, {"expected_seq": 0}, "wrong_expected_seq"),
    ("thinking", SAID, {"tenant": "other"}, "unknown_entity"),
]


async def test_an_sql_caller_is_refused_with_a_code(app: App, admin: Admin) -> None:
    (talk,) = await first_in_each(app, 1)
    before = rows(admin)
    for kind, payload, more, code in BAD_IN_SQL:
        with pytest.raises(psycopg.Error) as refusal:
            append_in_sql(admin, talk, kind, payload, **more)
        assert (refusal.value.sqlstate, refusal.value.diag.message_primary) == ("FJ001", code)
        assert refusal.value.diag.message_detail
    assert rows(admin) == before


async def test_an_sql_transaction_that_is_rolled_back_leaves_no_gap(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    with admin.transaction(force_rollback=True):
        append_in_sql(admin, talk, "thinking", SAID)
    assert (await talk.append("thinking", SAID)).seq == 0
    check_stream(admin, talk, 1)


@pytest.mark.parametrize(
    ("kind", "payload"), [("body.erased", {"reason": "r", "seq": 0}), ("slot.voided", {"reason": "r"})]
)
async def test_an_sql_caller_cannot_write_what_only_the_ledger_says(
    app: App, admin: Admin, kind: str, payload: dict[str, Any]
) -> None:
    (talk,) = await first_in_each(app, 1)
    with pytest.raises(psycopg.Error) as refusal:
        append_in_sql(admin, talk, kind, payload)
    assert refusal.value.sqlstate == "FJ001"
    check_stream(admin, talk, 1)


def sourceless(event: Draft) -> Draft:
    """Return a draft without a source whose hash fits the text that this makes of the body."""
    text = b'{"actor":null,"payload":%b,"source":,"v":1}' % event.payload.encode()
    return event._replace(source=None, body_hash=core.body_hash(event.salt, text))  # type: ignore[arg-type]


def acting(admin: Admin, role: str, tenant: str, statement: LiteralString, values: Any) -> tuple[Any, ...]:
    """Return the row of a statement that a role runs for a tenant."""
    with admin.transaction():
        admin.execute(f"set local role {role}".encode())
        admin.execute("select set_config('foja.tenant', %s, true)", [tenant])
        row: tuple[Any, ...] | None = admin.execute(statement, values).fetchone()
    assert row is not None
    return row


def send(admin: Admin, drafts: list[Draft], tenant: str, *, atomic: bool) -> tuple[Any, ...]:
    """Send a batch in the API's role, for a tenant; return numbers and verdicts."""
    batch: LiteralString = f"select seq, status from foja.append_drafts({BATCH}, {atomic}, false)"
    return acting(admin, "foja_api", tenant, batch, columns(drafts))


async def test_a_batch_records_no_draft_without_a_source_and_skips_none(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    good, bad = talk.draft("thinking", SAID), sourceless(talk.draft("thinking", SAID))
    with pytest.raises(psycopg.Error, match="wrong_source"):
        send(admin, [good, bad], "default", atomic=True)
    assert send(admin, [good, bad], "default", atomic=False) == ([0, None], ["appended", "refused"])
    check_stream(admin, talk, 1)


@pytest.mark.parametrize(
    "payload",
    [
        '{"content":',
        "",
        '["content"]',
        r'{"content":"\u0000"}',
        r'{"content":"\ud800"}',
        '{"content":"x","n":9007199254740993}',
        '{"content":"x","n":1e400000}',
        '{"content":' + "[" * 20_000 + "]" * 20_000 + "}",
    ],
    ids=range(8),
)
async def test_a_body_that_is_not_sound_fails_its_own_item_only(app: App, admin: Admin, payload: str) -> None:
    talk = await app.conversations.open()
    good, bad = talk.draft("thinking", SAID), talk.draft("thinking", SAID)._replace(payload=payload)
    assert send(admin, [good, bad], "default", atomic=False) == ([0, None], ["appended", "refused"])
    check_stream(admin, talk, 1)


async def test_a_draft_without_a_tenant_says_nothing_of_the_streams_of_others(app: App, admin: Admin) -> None:
    talk, other = await first_in_each(app, 2)
    good, probe = talk.draft("thinking", SAID), other.draft("thinking", SAID)._replace(expected=-1)
    with pytest.raises(psycopg.Error, match="unknown_entity"):
        send(admin, [good, probe._replace(tenant=None)], "default", atomic=False)  # type: ignore[arg-type]
    check_stream(admin, talk, 1)


async def test_a_stream_has_a_tenant_with_a_name(app: App, admin: Admin) -> None:
    nameless = (await app.conversations.open()).draft("thinking", SAID)._replace(tenant="")
    with pytest.raises(psycopg.Error, match="unknown_entity"):
        send(admin, [nameless, nameless], "", atomic=False)
    with pytest.raises(psycopg.Error, match="wrong_entity"):
        acting(admin, "foja_api", "", ONE, fields(nameless))


@pytest.mark.parametrize(
    ("role", "tenant", "code"),
    [("foja_sweeper", "default", "wrong_source"), ("foja_api", "other", "unknown_entity")],
)
async def test_who_may_not_write_is_told_so_before_the_body_is_read(
    app: App, admin: Admin, role: str, tenant: str, code: str
) -> None:
    huge = (await app.conversations.open()).draft("thinking", SAID)
    with pytest.raises(psycopg.Error, match=code):
        acting(admin, role, tenant, ONE, fields(huge._replace(payload='{"content":"x","n":1e400000}')))


async def test_a_surplus_row_of_the_voided_keeps_no_slot_open(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    admin.execute("insert into foja.voided values (%s, %s, 'default')", [talk.id, slots.seqs[0]])
    await slots.void(0, reason="not needed")
    assert [event.kind for event in await talk.events()] == ["slot.voided"]


async def test_workers_count_what_was_voided(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await (await talk.reserve(1, ttl=60)).void(0, reason="not needed")
    assert acting(admin, "foja_worker", "", "select count(*) from foja.voided", None) == (1,)
