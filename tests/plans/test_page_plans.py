"""What pages read among 20,000 others: lists, searches and counts find their rows by index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString

import pytest

from foja.sql import query
from tests.plans.filled import Admin, Copied, connected

ROUNDS = 7  # a plan made for one call may become a plan for all calls after the fifth

# 20,000 documents whose names have one word in common, and 20,000 jobs that succeeded; 30 jobs are dead.
FILL: LiteralString = """
    create temp table shape as select n, md5('paper' || n)::uuid as e from generate_series(1, 20000) n;
    insert into foja.document_word (entity_id, word, tenant, added_at)
        select e, w, 'default', now() - n * interval '1 s' from shape
        cross join lateral (values ('contract'), ('w' || n), ('#' || md5(n::text) || md5(n::text))) words (w);
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries, finished_at)
        select 'run_tsa', e, e, 'default', 'x',
            case when n % 667 = 0 then 'dead' else 'succeeded' end, 5, now() from shape;
"""


def fill(conn: Admin) -> None:
    conn.execute(FILL)


@pytest.fixture
def full(copied: Copied, full_template: str) -> Iterator[Admin]:
    with connected(copied, full_template) as conn:
        conn.execute("set local role foja_api; set local foja.tenant = 'default'")
        yield conn


def read(conn: Admin) -> int:
    """Return how many rows were read so far, whole tables included."""
    rows = conn.execute(
        """select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
        where schemaname = 'foja' and relname in ('document_word', 'job')"""
    ).fetchall()
    return sum(count for (count,) in rows)


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
    values = {"type": None, "before": None, "limit": 50}
    assert len(check(full, query("jobs_in_state"), 200, state="dead", **values)) == 29
    for state in ("running", "cancelled", "queued", "retry_scheduled"):
        assert check(full, query("jobs_in_state"), 200, state=state, **values) == []
    assert len(check(full, query("jobs_in_state"), 200, state="succeeded", **values)) == 50


def test_counts_stop_at_their_limit(full: Admin) -> None:
    counted: dict[str, int] = dict(check(full, query("job_counts"), 1_500, most=1_001))
    assert (counted["succeeded"], counted["dead"], counted["running"]) == (1_001, 29, 0)
