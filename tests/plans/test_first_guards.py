"""Guards whose plans were made while the tables were empty: a long stream is not read."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

Admin = psycopg.Connection[Any]
STREAM = UUID(int=7)
# Events that nothing looks at, between those of the test.
FILL: LiteralString = """
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
        select %(stream)s, e.next_seq + n, md5('more' || n)::uuid, %(kind)s, 1, now(), 'api', '{}',
            sha256('salt'), sha256('body'), 'default'
        from foja.entity e cross join generate_series(0, 2999) n where e.entity_id = %(stream)s;
    update foja.entity set next_seq = next_seq + 3000, sealed = sealed + 3000 where entity_id = %(stream)s;
"""
READ: LiteralString = """select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
    from pg_stat_xact_user_tables where schemaname = 'foja' and relname = 'event'"""
FEW = 20
APPEND: LiteralString = "select foja.append_event(%s, %s, %s, %s, idempotency_key => %s)"


@pytest.fixture(params=["never analyzed", "analyzed while empty", "analyzed with two events"])
def session(admin: Admin, request: pytest.FixtureRequest) -> Admin:
    if request.param == "analyzed with two events":
        for _ in range(2):
            admin.execute(APPEND, (UUID(int=8), "conversation", "thinking", Jsonb({"content": "hm"}), None))
    if request.param != "never analyzed":
        admin.execute("vacuum analyze")
    admin.prepare_threshold = 0
    return admin


def reads(conn: Admin, domain: str, kind: str, payload: dict[str, Any], key: str | None = None) -> int:
    """Append an event; return how many events that read."""
    with conn.transaction():
        [(before,)] = conn.execute(READ).fetchall()
        conn.execute(APPEND, (STREAM, domain, kind, Jsonb(payload), key))
        [(after,)] = conn.execute(READ).fetchall()
    return int(after - before)


def fill(conn: Admin, kind: str) -> None:
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(FILL, {"stream": STREAM, "kind": kind})


def test_an_image_is_added_to_a_long_gallery(session: Admin) -> None:
    added = {"url": "https://cdn.example/x"}
    reads(session, "image", "image.added", added)
    fill(session, "image.skipped")
    assert reads(session, "image", "image.added", added) < FEW
    [(image,)] = session.execute("select id from product_images limit 1").fetchall()
    assert reads(session, "image", "image.moved", {"image_id": str(image), "to": 1}) < FEW


def test_an_approval_is_requested_in_a_long_conversation(session: Admin) -> None:
    asked = {"tool_name": "n", "tool_args": {}, "expires_at": "2099-01-01T00:00:00Z"}
    reads(session, "conversation", "approval_requested", {"approval_id": "first", **asked})
    fill(session, "thinking")
    assert reads(session, "conversation", "approval_requested", {"approval_id": "second", **asked}) < FEW


def test_an_event_is_recorded_again_in_a_long_stream(session: Admin) -> None:
    for _ in range(2):
        reads(session, "conversation", "thinking", {"content": "hm"}, "key")
    fill(session, "thinking")
    assert reads(session, "conversation", "thinking", {"content": "hm"}, "key") < FEW


# Documents with an open attempt at this evidence, whose job has ended, and the event that confirms it.
WAITING: LiteralString = """
    insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status, required_evidence,
            requested_seq)
        select md5('document' || n)::uuid, 'default', 0, repeat(md5('w' || n), 2), 'ready', '{tsa}', 1
        from generate_series(%(low)s::integer, %(high)s::integer) n;
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
        select md5('document' || n)::uuid, each.evidence, repeat(md5('w' || n), 2), 1, 2, now(), each.state,
            'default'
        from generate_series(%(low)s::integer, %(high)s::integer) n
        cross join (values ('artifact', 'open'),
            ('tsa', case %(evidence)s when 'tsa' then 'open' else 'confirmed' end)) each (evidence, state)
        where each.evidence = 'tsa' or %(evidence)s = 'artifact';
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries)
        select foja.job_of(%(evidence)s), md5('document' || n)::uuid, md5('document' || n)::uuid, 'default',
            '2', 'succeeded', 5
        from generate_series(%(low)s::integer, %(high)s::integer) n;
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
        select md5('document' || n)::uuid, 3, md5('e' || n)::uuid, %(kind)s, 1, now(), 'run-tsa',
            json_build_object('witness_hash', repeat(md5('w' || n), 2), 'attempt', 1, 'gen_time', now(),
                'token_b64', 'x', 'verdict', 'TOTAL_PASSED', 'sha256', repeat('0', 64),
                'size', 1, 'profile', 'evidence/v1'),
            sha256('salt'), sha256('body'), 'default'
        from generate_series(%(low)s::integer, %(high)s::integer) n;
"""
READ_ALL: LiteralString = """select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
    from pg_stat_xact_user_tables
    where schemaname = 'foja' and relname in ('event', 'document', 'attempt', 'job')"""


def confirmed(conn: Admin, low: int, high: int) -> int:
    """Let the guard confirm the events of these documents; return how many rows that read."""
    ids: LiteralString = "array(select md5('document' || n)::uuid from generate_series(%s::int, %s::int) n)"
    query: LiteralString = f"select foja.track('document', {ids}, array_fill(3::bigint, array[%s]))"
    with conn.transaction():
        [(before,)] = conn.execute(READ_ALL).fetchall()
        conn.execute(query, (low, high, high - low + 1))
        [(after,)] = conn.execute(READ_ALL).fetchall()
    return int(after - before)


@pytest.mark.parametrize(("evidence", "kind"), [("tsa", "tsa.confirmed"), ("artifact", "artifact.finalized")])
def test_a_batch_is_confirmed_while_many_documents_wait(session: Admin, evidence: str, kind: str) -> None:
    def wait(low: int, high: int) -> None:
        with psycopg.ClientCursor(session) as cursor:
            cursor.execute(WAITING, {"low": low, "high": high, "evidence": evidence, "kind": kind})

    session.execute(
        """insert into foja.object (sha256, generation, state, tenant)
            values (repeat('0', 64), 0, 'live', 'default')"""
    )
    wait(1, 2)
    confirmed(session, 1, 2)
    wait(3, 2000)
    assert confirmed(session, 3, 12) < 10 * FEW
