"""The seed's statements, as it wrote them, for the tests that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

from foja.app import App
from foja.domains.conversations.service import Conversation
from tests.database.schema.rows import Admin

SESSION = UUID(int=0xE)
APPEND_ONLY, DENIED, REFUSED = "FJ002", "42501", "FJ001"

# As the seed wrote them, in PostgreSQL's spelling of a parameter.
FALLBACK: LiteralString = """SELECT COALESCE(MAX(sequence_number), -1) + 1 AS next_seq
     FROM message_events WHERE session_id = %(session_id)s"""
APPEND: LiteralString = """INSERT INTO message_events
    (id, session_id, event_type, sequence_number, timestamp, data)
    VALUES (%(id)s, %(session_id)s, %(event_type)s, %(sequence_number)s, now(), %(data)s) RETURNING *"""
MERGE: LiteralString = """insert into seed_counters (session_id, next_number) values (%(session_id)s, 1)
    on conflict (session_id) do update set next_number = seed_counters.next_number + 1
    returning next_number as next_seq"""


def insert(
    conn: Admin,
    content: Any,
    seq: int | None = None,
    *,
    event_id: UUID | None = None,
    session: UUID = SESSION,
    kind: str = "user_message_sent",
) -> Any:
    """Insert one message the way the seed does and return the row that comes back."""
    values = {
        "id": event_id,
        "session_id": session,
        "event_type": kind,
        "sequence_number": seq,
        "data": Jsonb(content if isinstance(content, dict) else {"content": content}),
    }
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(APPEND, values).fetchone()


def messages(conn: Admin, session: UUID = SESSION) -> list[Any]:
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(
            "select * from message_events where session_id = %s order by sequence_number", [session]
        ).fetchall()


def next_seq(conn: Admin, session: UUID = SESSION) -> int:
    """Return what the seed's fallback says, and fail unless `sequence_counters` agrees."""
    row = conn.execute(FALLBACK, {"session_id": session}).fetchone()
    counter = conn.execute(
        "select next_number from sequence_counters where session_id = %s", [session]
    ).fetchone()
    assert row is not None
    assert row == (counter or (0,))
    return int(row[0])


def reserve(conn: Admin, count: int, session: UUID = SESSION) -> tuple[list[int], UUID]:
    row = conn.execute(
        "select start_sequence, sequences, token from reserve_sequence_batch(%s, %s)", [session, count]
    ).fetchone()
    assert row is not None
    assert row[1] == list(range(row[0], row[0] + count))
    return row[1], row[2]


@contextmanager
def holding(conn: Admin, token: UUID | str) -> Iterator[None]:
    """Hold a reservation's token for one transaction."""
    with conn.transaction():
        conn.execute(sql.SQL("set local foja.slot_token = {}").format(sql.Literal(str(token))))
        yield


def refusal(call: Callable[..., Any], *values: Any, **named: Any) -> tuple[str | None, str]:
    """Return the SQLSTATE and the words that a call is refused with."""
    with pytest.raises(psycopg.Error) as caught:
        call(*values, **named)
    error = caught.value
    return error.sqlstate, f"{error.diag.message_primary}: {error.diag.message_detail}"


def as_owner(conn: Admin) -> Admin:
    conn.execute("reset role")
    return conn


async def opened(app: App) -> Conversation:
    return await app.conversations.open(SESSION)


# Seed 000, "Consultas SQL de auditoria rapida", A and B, as written.
AUDIT_A: LiteralString = """
select
  de.id as document_entity_id,
  ev->>'id' as event_id,
  ev->>'kind' as kind,
  ev->>'entity_id' as entity_id,
  ev->>'correlation_id' as correlation_id
from public.document_entities de
cross join lateral jsonb_array_elements(coalesce(de.events, '[]'::jsonb)) ev
where coalesce(ev->>'entity_id', '') <> de.id::text
   or coalesce(ev->>'correlation_id', '') <> de.id::text;
"""
AUDIT_B: LiteralString = """
with per_doc as (
  select
    de.id,
    bool_or(ev->>'kind' = 'tsa.confirmed') as has_tsa_confirmed,
    bool_or(ev->>'kind' = 'anchor.confirmed') as has_anchor_confirmed
  from public.document_entities de
  cross join lateral jsonb_array_elements(coalesce(de.events, '[]'::jsonb)) ev
  group by de.id
)
select *
from per_doc
where has_anchor_confirmed = true
  and has_tsa_confirmed = false;
"""
