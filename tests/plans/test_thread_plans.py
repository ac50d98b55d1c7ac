"""A thread that is nearly the whole table is read by index, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import LiteralString
from uuid import UUID

import pytest

from foja.engine.sql import query
from tests.plans.filled import Admin, Copied, filled

THREAD = UUID("11111111-1111-8111-8111-111111111111")
CHAIN = 40  # events that hold a value, each based on the one before
# 8,000 checkpoints of one thread, one in 200 with a value.
FILL: LiteralString = """
    insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head)
        values ('11111111-1111-8111-8111-111111111111', 'thread', 'default', 8000, 8000, sha256('head'));
    insert into foja.event
        select '11111111-1111-8111-8111-111111111111', n, md5('event' || n)::uuid,
            case n % 200 when 0 then 'values.saved' else 'checkpoint.saved' end, 1, now(), null, 'api',
            json_build_object('ns', '', 'text', repeat('x', 300), 'values', json_build_object('messages',
                case when n > 0 then json_build_object('after', n - 200) else '{}' end)),
            substring(sha256('salt') for 16), sha256('body'), null, 'default'
        from generate_series(0, 7999) n;
    analyze;
"""


@pytest.fixture(scope="module")
def full_template(copied: Copied, template: str) -> Iterator[str]:
    with filled(copied, template, lambda conn: conn.execute(FILL)) as name:
        yield name


def read(conn: Admin) -> tuple[int, int]:
    """Return how often the table of events was read whole, and how many of its rows were read, so far."""
    [(whole, rows)] = conn.execute(
        """select coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
        where schemaname = 'foja' and relname = 'event'"""
    ).fetchall()
    return whole, rows


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_a_thread_is_read_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute("set local role foja_api; set local foja.tenant = 'default'")
    here: dict[str, object] = {"entity": THREAD, "tenant": "default"}
    for ns in ("", None):
        whole, rows = read(full)
        found = full.execute(
            query("thread_checkpoints"), {**here, "ns": ns, "before": 7_000, "limit": 50}
        ).fetchall()
        assert [seq for seq, *_ in found][:2] == [6_999, 6_998]
        assert len(found) == 50
        assert (read(full)[0] - whole, read(full)[1] - rows <= 60) == (0, True)
    whole, rows = read(full)
    last = (CHAIN - 1) * 200
    found = full.execute(
        query("thread_values"), {**here, "channels": ["messages"], "seqs": [last]}
    ).fetchall()
    assert [seq for _, seq, _ in found] == list(range(0, last + 1, 200))
    assert (read(full)[0] - whole, read(full)[1] - rows <= CHAIN + 10) == (0, True)
