"""Jobs among 100,000 finished ones: every step goes by index and reads only what it changes."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

import pytest

from foja.engine.sql import query
from tests.job_domain import install
from tests.plans.filled import Admin

ROUNDS = 12  # a plan made for one call may become a plan for all calls after the fifth

# 100,000 that are over, 5,000 that wait for a far moment, 5,000 in line behind one stream, 3,000 to be done,
# and streams to belong to; all of it as the functions leave it.
FILL: LiteralString = """
    create temp table shape as select n, md5('stream' || n)::uuid as e from generate_series(0, 3000) n;
    insert into foja.entity (entity_id, domain, tenant, head)
        select e, 'errand', 'default', sha256('head') from shape;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries, tries,
            lease_token, lease_until, finished_at)
        select 'run_errand', e, e, 'default', 'over ' || i, 'succeeded', 3, 1, gen_random_uuid(), now(), now()
        from generate_series(1, 100000) i join shape on n = i % 3000;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, run_at, priority)
        select 'run_errand', e, e, 'default', 'later ' || i, 3, now() + interval '1 day', i % 3
        from generate_series(1, 5000) i join shape on n = i % 3000;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, serial, head)
        select 'run_in_order', e, e, 'default', 'line ' || i, 3, true, i = 1
        from generate_series(1, 5000) i join shape on n = 0;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, run_at)
        select 'run_errand', e, e, 'default', 'now ' || n, 3, now() - interval '1 s' from shape where n > 0;
"""


def fill(conn: Admin) -> None:
    install(conn)
    conn.execute(FILL)


def cost(conn: Admin) -> tuple[int, int]:
    row = conn.execute(
        """select coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)
        from pg_stat_xact_user_tables where schemaname = 'foja' and relname = 'job'"""
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def check(conn: Admin, statement: LiteralString, fetched: int, /, **values: object) -> list[tuple[Any, ...]]:
    """Run a statement; fail if it scans the jobs, or fetches over so many of them."""
    before = cost(conn)
    rows = conn.execute(statement, values).fetchall()
    after = cost(conn)
    assert after[0] == before[0], statement
    assert after[1] - before[1] <= fetched, statement
    return rows


def stream(conn: Admin, n: int) -> UUID:
    row = conn.execute("select md5('stream' || %s::text)::uuid", [n]).fetchone()
    assert row is not None
    entity: UUID = row[0]
    return entity


def claim(conn: Admin, kind: str, most: int, fetched: int) -> list[tuple[Any, ...]]:
    return check(conn, query("claim_jobs"), fetched, type=kind, tenant=None, limit=most, worker="w")


COMPLETE: LiteralString = "select foja.complete_job_v1(%(job)s, %(token)s)"
BEAT: LiteralString = query("heartbeat_jobs")


def a_claim_reads_what_it_takes(full: Admin) -> None:
    full.execute("set local role foja_run_errand")
    for _ in range(ROUNDS):
        jobs = claim(full, "run_errand", 20, 60)
        assert len(jobs) == 20
        ids, tokens = [job[0] for job in jobs], [job[8] for job in jobs]
        assert len(check(full, BEAT, 90, jobs=ids, tokens=tokens)) == 20
        for job, token in zip(ids, tokens, strict=True):
            assert check(full, COMPLETE, 10, job=job, token=token) == [("done",)]


def an_empty_claim_reads_nothing_although_much_is_scheduled(full: Admin) -> None:
    full.execute("update foja.job set state = 'cancelled' where run_at < now() and state = 'queued'")
    full.execute("set local role foja_run_errand")
    for _ in range(ROUNDS):
        assert claim(full, "run_errand", 20, 0) == []


def a_long_line_costs_its_first_job_only(full: Admin) -> None:
    full.execute("set local role foja_run_errand")
    for _ in range(ROUNDS):
        [job] = claim(full, "run_in_order", 20, 5)
        assert check(full, COMPLETE, 12, job=job[0], token=job[8]) == [("done",)]


def a_claim_after_a_crash_reads_one(full: Admin) -> None:
    full.execute("set local role foja_run_errand")
    assert len(claim(full, "run_errand", 500, 1_100)) == 500
    full.execute("reset role")
    full.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")
    full.execute("set local role foja_run_errand")
    for _ in range(ROUNDS):
        assert len(claim(full, "run_errand", 20, 5)) == 1


def asking_and_waking_read_what_they_touch(full: Admin) -> None:
    for n in range(ROUNDS):
        entity = stream(full, 100 + n)
        here: dict[str, object] = {"entity": entity, "key": f"new {n}"}
        full.execute("set local role foja_run_errand")
        check(full, "select foja.enqueue_job_v1('run_errand', %(entity)s, %(key)s)", 2, **here)
        check(full, "select foja.enqueue_job_v1('run_in_order', %(entity)s, %(key)s || 's')", 8, **here)
        full.execute("reset role")
        check(
            full,
            "select foja.append_event(%(entity)s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')",
            0,
            entity=entity,
        )
        check(full, query("queue_woken"), 3)


def sweeping_and_ticking_read_next_to_nothing(full: Admin) -> None:
    full.execute("set local role foja_sweeper")
    for _ in range(ROUNDS):
        check(full, query("sweep_jobs"), 5, most=100)
        check(full, query("run_ticks"), 0)


CHECKS = (
    a_claim_reads_what_it_takes,
    an_empty_claim_reads_nothing_although_much_is_scheduled,
    a_long_line_costs_its_first_job_only,
    a_claim_after_a_crash_reads_one,
    asking_and_waking_read_what_they_touch,
    sweeping_and_ticking_read_next_to_nothing,
)


def test_every_step_of_a_job_goes_by_index(full: Admin) -> None:
    """One database for all of them: filling it takes longer than they do."""
    for each in CHECKS:
        with full.transaction(force_rollback=True):
            each(full)


def test_a_claim_without_its_index_would_be_noticed(full: Admin) -> None:
    full.execute("drop index foja.job_runnable")
    full.execute("set local role foja_run_errand")
    with pytest.raises(AssertionError):
        claim(full, "run_errand", 20, 60)
