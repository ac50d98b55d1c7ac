"""Documents among 20,000 others: what is looked for is found by index, and little else is read."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

from foja.engine.sql import query
from tests.plans.filled import Admin

ROUNDS = 7  # a plan made for one call may become a plan for all calls after the fifth

# 20,000 documents that are final, 3,000 whose timestamp is late while nobody may give one, 30 given up.
FILL: LiteralString = """
    create temp table shape as select n, md5('paper' || n)::uuid as e from generate_series(1, 23030) n;
    insert into foja.document (entity_id, tenant, witness_hash, required_evidence, requested_seq, finalized)
        select e, 'default', repeat('a', 64), '{tsa}', 1, n <= 20000 from shape;
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
        select e, 'tsa', repeat('a', 64), 1, 2, now() - interval '1 h',
            case when n <= 20000 then 'confirmed' when n <= 23000 then 'open' else 'failed' end, 'default'
        from shape;
    update foja.job_type set paused = true where type = 'run_tsa';
"""


def fill(conn: Admin) -> None:
    conn.execute(FILL)


def fetched(conn: Admin) -> int:
    """Return how many rows of documents and attempts were read so far, a scan as far too many."""
    rows = conn.execute(
        """select coalesce(seq_scan, 0) * 100000 + coalesce(idx_tup_fetch, 0)
        from pg_stat_xact_user_tables
        where schemaname = 'foja' and relname in ('attempt', 'document', 'document_summary', 'event')"""
    ).fetchall()
    return sum(count for (count,) in rows)


def check(conn: Admin, statement: LiteralString, most: int, /, **values: object) -> list[tuple[Any, ...]]:
    before = fetched(conn)
    rows = conn.execute(statement, values).fetchall()
    assert fetched(conn) - before <= most, statement
    return rows


def test_what_waits_for_a_paused_type_is_not_read_again_every_second(full: Admin) -> None:
    full.execute("set local role foja_sweeper")
    for _ in range(ROUNDS):
        assert check(full, query("expire_attempts"), 0, most=100) == []


def test_what_was_given_up_is_found_without_reading_the_rest(full: Admin) -> None:
    full.execute("set local role foja_api; set local foja.tenant = 'default'")
    for _ in range(ROUNDS):
        found, after = list[Any](), UUID(int=0)
        while page := check(
            full,
            query("documents_failed"),
            100,
            tenant="default",
            evidence=["tsa"],
            after=after,
            limit=20,
        ):
            found += page
            after = page[-1][0]
        assert len(found) == 30
        assert found == sorted(found)


CONFIRM: LiteralString = """
    select foja.end_attempts(array(
        select a from foja.attempt a where a.entity_id = %(document)s), 'confirmed')"""
SUPERSEDE: LiteralString = "select foja.supersede_attempts(%(document)s, 'requested anew', repeat('b', 64))"


def test_one_attempt_is_ended_without_reading_the_other_open_ones(full: Admin) -> None:
    full.execute("set local plan_cache_mode = force_generic_plan")
    waiting = full.execute("select entity_id from foja.attempt where state = 'open' limit %s", [ROUNDS])
    for (document,) in waiting.fetchall():
        check(full, CONFIRM, 5, document=document)
        check(full, SUPERSEDE, 5, document=document)
