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
