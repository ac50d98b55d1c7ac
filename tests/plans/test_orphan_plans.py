"""A scan for orphans reads two indexes in the order of digests, and no row: rows lie anywhere on the disk."""

from __future__ import annotations

from typing import LiteralString

from foja.engine.sql import query
from tests.plans.filled import Admin, rows_read

OBJECTS, PAGE = 20_000, 1_000
FILL: LiteralString = """
    insert into foja.object (sha256, generation, state, changed_at)
        select encode(sha256(n::text::bytea), 'hex'), 0, 'live', now() - interval '30 days'
        from generate_series(1, 20000) n;
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant)
        select gen_random_uuid(), 0, o.sha256, 0, 'document', 'default' from foja.object o;
"""
TABLES = ("object", "object_reference")


def fill(conn: Admin) -> None:
    conn.execute(FILL)
    conn.execute("vacuum")


def test_a_page_of_a_scan_reads_no_row(full: Admin) -> None:
    before = rows_read(full, *TABLES)
    after, generation, checked = "", -1, 0
    full.execute("set role foja_hygiene")
    while after is not None:
        values = {"after": after, "generation": generation, "limit": PAGE, "fresh": 0, "dry": True}
        [(after, generation, seen, staged, referred)] = full.execute(
            query("stage_orphans"), values
        ).fetchall()
        checked += seen
        assert (staged, len(referred)) == (0, seen)
    full.execute("reset role")
    assert checked == OBJECTS
    assert rows_read(full, *TABLES) - before < PAGE
