"""What pages read among 20,000 others: lists, searches and counts find their rows by index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import UUID

import pytest

from foja.domains.documents.lists import LAST
from foja.engine.sql import query
from tests.plans.filled import Admin, Copied, connected

ROUNDS = 7  # a plan made for one call may become a plan for all calls after the fifth

# 20,000 documents, conversations and galleries. The names of documents have one word in common. 29 of them
# were given up and the others are final; one of ten failed once. 20,000 jobs succeeded; 29 are dead, and two
# have a rare type.
FILL: LiteralString = """
    create temp table shape as select n, md5('paper' || n)::uuid as e, now() - n * interval '1 s' as at
        from generate_series(1, 20000) n;
    insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head)
        select e, 'document', 'default', 1, 1, '\\x00' from shape;
    insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head)
        select md5('talk' || n)::uuid, 'conversation', 'default', 1, 1, '\\x00' from shape;
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, body_hash, tenant)
        select e, 0, gen_random_uuid(), 'document.added', 1, at, 'api',
            '{"name": "a"}'::json, '\\x00', 'default' from shape;
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, body_hash, tenant)
        select md5('talk' || n)::uuid, 0, gen_random_uuid(), 'user_message_sent', 1, at, 'api',
            '{"content": "a"}'::json, '\\x00', 'default' from shape;
    insert into foja.document (entity_id, tenant, added_seq, witness_hash, required_evidence, finalized)
        select e, 'default', 0, 'a', '{tsa}', n % 667 > 0 from shape;
    insert into foja.document_summary (entity_id, tenant, state, lifecycle_status, length, began_at, failed)
        select e, 'default', case when n % 667 > 0 then 'final' else 'none' end, '', 1, at, n % 667 = 0
        from shape;
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
        select e, 'tsa', 'a', 1, 0, at, 'failed', 'default' from shape where n % 10 = 0 or n % 667 = 0;
    insert into public.products (productid, tenant) select e, 'default' from shape;
    insert into public.product_images (id, product_id, image_url, image_order, tenant, content_seq)
        select gen_random_uuid(), e, 'foja:sha256/a', place, 'default', 0
        from shape, generate_series(0, 1) place;
    insert into public.image_orphan_candidates (path, detected_at)
        select 'objects/' || md5(n::text) || md5(n::text) || '/0', at from shape;
    insert into foja.log (origin, name) values (1, 'log') on conflict do nothing;
    insert into foja.checkpoint (origin, size, root, frontier, note, published_at)
        select 1, n, sha256('root'), '\\x00', '', at from shape;
    insert into foja.document_word (entity_id, word, tenant, added_at)
        select e, w, 'default', now() - n * interval '1 s' from shape
        cross join lateral (values ('contract'), ('w' || n), ('#' || md5(n::text) || md5(n::text))) words (w);
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries, finished_at)
        select case when n in (3, 20000) then 'renew_artifacts' else 'run_tsa' end, e, e, 'default', 'x',
            case when n % 667 = 0 then 'dead' else 'succeeded' end, 5, now() from shape;
"""


def fill(conn: Admin) -> None:
    conn.execute(FILL)


@pytest.fixture
def full(copied: Copied, full_template: str) -> Iterator[Admin]:
    with connected(copied, full_template) as conn:
        conn.execute("set local role foja_api; set local foja.tenant = 'default'")
        yield conn


@pytest.fixture
def known(full: Admin) -> Admin:
    """A database whose sizes are known, as they are a minute after it was filled."""
    if not full.execute("select from pg_stats where schemaname = 'foja' limit 1").fetchall():
        pytest.skip("lists that no append and no job waits for may be slow until autovacuum was there")
    return full


def read(conn: Admin) -> int:
    """Return how many rows were read so far, whole tables included."""
    rows = conn.execute(
        """select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
        where schemaname in ('foja', 'public') and relname not in ('job_type', 'log', 'domain')"""
    ).fetchall()
    return sum(count for (count,) in rows)


def ids(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [row[0] for row in rows]


def check(conn: Admin, statement: LiteralString, most: int, /, **values: object) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for _ in range(ROUNDS):
        before = read(conn)
        rows = conn.execute(statement, {"tenant": "default", **values}).fetchall()
        assert read(conn) - before <= most, statement
    return rows


def test_a_word_that_all_documents_have_costs_a_page(full: Admin) -> None:
    everywhere = {"first": "contr", "others": [], "limit": 50}
    assert len(check(full, query("documents_found"), 2_100, **everywhere)) == 50
    both = {"first": "contract", "others": ["w19"], "limit": 50}
    assert check(full, query("documents_found"), 6_500, **both) != []


def test_a_digest_is_found_by_its_beginning(full: Admin) -> None:
    assert len(check(full, query("documents_found"), 10, first="#c4ca4238a0b9", others=[], limit=50)) == 1


def test_jobs_in_a_rare_state_are_found_without_reading_the_others(full: Admin) -> None:
    values = {"type": None, "before": None, "limit": 50, "newest": 5_000}
    assert len(check(full, query("jobs_in_state"), 200, state="dead", **values)) == 29
    for state in ("running", "cancelled", "queued", "retry_scheduled"):
        assert check(full, query("jobs_in_state"), 200, state=state, **values) == []
    assert len(check(full, query("jobs_in_state"), 200, state="succeeded", **values)) == 50


def test_counts_stop_at_their_limit(full: Admin) -> None:
    counted: dict[str, int] = dict(check(full, query("job_counts"), 1_500, most=1_001))
    assert (counted["succeeded"], counted["dead"], counted["running"]) == (1_001, 29, 0)


def test_jobs_of_a_type_are_looked_for_among_the_newest(known: Admin) -> None:
    newest = check(known, query("jobs_of_type"), 5_000, type="renew_artifacts", newest=5_000, limit=50)
    assert len(newest) == 1  # the other one is older
    values = {"type": "renew_artifacts", "before": None, "limit": 50, "newest": 5_000}
    assert len(check(known, query("jobs_in_state"), 5_100, state="succeeded", **values)) == 1
    assert check(known, query("jobs_in_state"), 200, state="dead", **values) == []


def test_jobs_of_a_stream_are_found_by_it(full: Admin) -> None:
    [(stream,)] = full.execute("select md5('paper7')::uuid").fetchall()
    assert len(check(full, query("jobs_of_stream"), 5, entity=stream, type=None, state=None, limit=50)) == 1
    assert len(check(full, query("jobs_named"), 60, jobs=list(range(1, 51)))) == 50


def test_a_page_of_documents_is_read_without_the_other_pages(known: Admin) -> None:
    newest = {"before": UUID(int=2**128 - 1), "before_at": LAST, "limit": 50}
    first = ids(check(known, query("documents"), 120, **newest))
    assert len(first) == 50
    [(middle, at)] = known.execute(
        "select entity_id, began_at from foja.document_summary order by began_at offset 9999 limit 1"
    ).fetchall()
    later = {"before": middle, "before_at": at, "limit": 50}
    assert len(set(first) | set(ids(check(known, query("documents"), 120, **later)))) == 100
    for state, count in (("final", 50), ("none", 29), ("protected", 0)):
        assert len(check(known, query("documents_in_state"), 120, state=state, **newest)) == count
    assert len(check(known, query("documents_in_state"), 120, state="final", **later)) == 50
    assert len(check(known, query("documents_listed"), 700, documents=first)) == 50


def test_what_was_given_up_is_found_without_what_failed_once(known: Admin) -> None:
    newest = {"before": UUID(int=2**128 - 1), "before_at": LAST, "limit": 50}
    assert len(check(known, query("documents_given_up"), 400, **newest)) == 29
    known.execute("set local role foja_sweeper")
    [(_, _, stuck, *_)] = check(known, query("overview_counts"), 1_000, most=1_001, few=101)
    assert stuck == 29


def test_conversations_and_galleries_are_read_by_page(known: Admin) -> None:
    newest = {"before": UUID(int=2**128 - 1), "limit": 50}
    assert len(check(known, query("recent_conversations"), 250, **newest)) == 50
    assert len(check(known, query("product_page"), 300, **newest)) == 50


def test_candidates_and_checkpoints_are_read_by_page(full: Admin) -> None:
    full.execute("set local role none")
    assert len(check(full, query("orphan_candidates"), 200, limit=50)) == 50
    assert len(check(full, query("recent_checkpoints"), 60, limit=20)) == 20
