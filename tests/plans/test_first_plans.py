"""Plans made while the tables were empty: a session keeps them when there is much to read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.engine.sql import query

Admin = psycopg.Connection[Any]
MANY = 3_000
JOINED: LiteralString = """select v.seq from unnest(%(entities)s::uuid[]) w(entity_id)
    join foja.entity e on e.entity_id = w.entity_id and e.tenant = 'default'
    join foja.event v on v.entity_id = w.entity_id and v.seq < e.sealed"""
FILL: LiteralString = """
    create temp table shape as select n, md5('paper' || n)::uuid as e from generate_series(1, 3000) n;
    insert into foja.entity (entity_id, domain, tenant, head, next_seq, sealed)
        select e, 'document', 'default', sha256('head'), 1, 1 from shape;
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
        select e, 0, e, 'document.added', 1, now(), 'api', '{}', sha256('salt'), sha256('body'), 'default'
        from shape;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries)
        select 'protect_document_v2', e, e, 'default', 'executor', 'succeeded', 5 from shape;
    insert into products (productid, tenant) select e, 'default' from shape;
    insert into product_images (id, product_id, image_url, image_order, tenant, content_seq)
        select e, e, 'https://cdn.example/x', 0, 'default', 0 from shape;
    insert into foja.log (origin, name) values (1, 'log');
    insert into foja.leaves select 1, min(n) - 1, array_agg((n - 1) % 100 order by n),
        array_agg(e order by n), array_agg(0 order by n), string_agg(sha256('leaf'), '' order by n)
        from shape group by (n - 1) / 100;
    insert into foja.leaf_place select e, 1, 0, (n - 1) / 100 * 100 from shape;
    insert into foja.checkpoint (origin, size, root, frontier, note, published_at)
        values (1, 3000, sha256('root'), '', 'note', now());
"""


@pytest.fixture(params=["never analyzed", "analyzed while empty"])
def session(admin: Admin, request: pytest.FixtureRequest) -> Admin:
    """A session whose plans are the same for all calls, from the first on."""
    if request.param == "analyzed while empty":
        admin.execute("vacuum analyze")
    admin.prepare_threshold = 0
    admin.execute("set plan_cache_mode = force_generic_plan")
    return admin


def reads(conn: Admin) -> int:
    """Return how many rows and entries of indexes were read so far."""
    row = conn.execute(
        """select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint + (
            select sum(idx_tup_read)::bigint from pg_stat_user_indexes
            where schemaname in ('foja', 'public'))
        from pg_stat_user_tables where schemaname in ('foja', 'public')"""
    ).fetchone()
    assert row is not None
    return int(row[0])


def check(conn: Admin, statement: LiteralString, most: int, /, **values: object) -> list[tuple[Any, ...]]:
    """Run a statement; fail if it reads over so many rows and entries of indexes."""
    conn.execute("select pg_stat_force_next_flush()")
    before = reads(conn)
    rows = conn.execute(statement, values).fetchall()
    conn.execute("select pg_stat_force_next_flush()")
    assert reads(conn) - before <= most, statement
    return rows


def few(conn: Admin) -> list[UUID]:
    """Return ten of the documents, or ten ids that are not there yet."""
    found = [row[0] for row in conn.execute("select entity_id from foja.entity limit 10")]
    return found or [uuid4() for _ in range(10)]


def summaries(documents: list[UUID]) -> dict[str, object]:
    count = len(documents)
    words = {name: ["none"] * count for name in ("states", "pipelines", "lifecycles", "witnesses")}
    return {
        "entities": documents,
        **words,
        "lengths": [1] * count,
        "began": [datetime.now(UTC)] * count,
        "failed": [False] * count,
    }


WAKE: LiteralString = "select foja.wake(%(entities)s)"


class Step(NamedTuple):
    """One statement about ten documents or images, the role that runs it and what it gives for them."""

    role: LiteralString
    statement: LiteralString
    values: Callable[[list[UUID]], dict[str, object]]
    rows: int


STEPS = {
    "histories": Step(
        "foja_protect_document_v2", query("document_histories"), lambda ids: {"entities": ids}, 10
    ),
    "summaries": Step("foja_protect_document_v2", query("write_summaries"), summaries, 1),
    "checkpoints": Step(
        "foja_sweeper", query("first_checkpoints"), lambda ids: {"entities": ids, "seqs": [0] * 10}, 10
    ),
    "excerpts": Step(
        "foja_api",
        query("read_histories"),
        lambda ids: {"entities": ids, "lengths": [1] * 10, "tenant": "default"},
        10,
    ),
    "images": Step("foja_api", query("gallery_images"), lambda ids: {"images": ids, "tenant": "default"}, 10),
    "wake": Step("postgres", WAKE, lambda ids: {"entities": ids}, 1),
    # Joined, as it must not be: this shows that the test can fail.
    "joined": Step("postgres", JOINED, lambda ids: {"entities": ids}, 10),
}


def run(conn: Admin, step: Step, most: int) -> int:
    """Run a step for ten documents; return how many rows it gives."""
    documents = few(conn)
    conn.execute(b"set role " + step.role.encode())
    conn.execute("set foja.tenant = 'default'")
    rows = check(conn, step.statement, most, **step.values(documents))
    conn.execute("reset role")
    conn.execute("set foja.tenant = ''")
    return len(rows)


@pytest.mark.parametrize("name", STEPS)
def test_ten_documents_are_read_as_ten_also_by_the_first_plans(session: Admin, name: str) -> None:
    """Joined by a planner that saw empty tables, each of these read every document there was."""
    step = STEPS[name]
    run(session, step, MANY)
    session.execute(FILL, prepare=False)
    with pytest.raises(AssertionError) if name == "joined" else nullcontext():
        assert run(session, step, 200) == step.rows


def test_images_are_planned_once_for_any_number_of_them(admin: Admin) -> None:
    """Planned anew for its four ids, a read took three times as long."""
    admin.execute(FILL, prepare=False)
    admin.execute("vacuum analyze")
    values = {"images": few(admin)[:4], "tenant": "default"}
    for _ in range(10):
        admin.execute(query("gallery_images"), values, prepare=True)
    plans = admin.execute("select generic_plans, custom_plans from pg_prepared_statements").fetchall()
    assert plans == [(5, 5)]


def test_ten_sleeping_executors_are_woken(session: Admin) -> None:
    session.execute(FILL, prepare=False)
    run(session, STEPS["wake"], MANY)
    queued = session.execute("select count(*) from foja.job where state = 'queued'").fetchone()
    assert queued == (10,)
