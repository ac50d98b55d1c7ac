"""Plans on a table with 20,000 events: every hot path goes by index and reads only what it returns.

Not what EXPLAIN promises but what the server counted, so that statements inside functions are seen too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import UUID

import pytest

from foja.engine.ledger.event import draft, new_id
from foja.engine.sql import query
from foja.pure.models.conversations.events import CONVERSATION
from tests.database.schema.seed import FALLBACK
from tests.drafts import BATCH as BATCH_DRAFTS
from tests.drafts import NAMED, columns, named
from tests.plans.filled import Admin, Copied, filled

LARGE = ("event", "leaves", "leaf_place", "entity")
ROUNDS = 12  # a plan made for one call may become a plan for all calls after the fifth

# Rows as the ledger would leave them: stream 0 is long, the last ten wait for a number, all others are
# sealed and have ten open slots.
FILL: LiteralString = """
    create temp table shape as
        select md5('stream' || s)::uuid as entity_id, n, row_number() over (order by n, s) - 1 as idx, s
        from generate_series(0, 3000) s, generate_series(0, case s when 0 then 4999 else 4 end) n;
    insert into foja.log (origin, name, next_idx) values (1, 'plans', 20000);
    insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head)
        select entity_id, 'conversation', 'default', max(n) + 11, max(n) + (s <= 2990)::int, sha256('head')
        from shape group by entity_id, s;
    insert into foja.event
        select entity_id, n, md5(s || 'event' || n)::uuid, 'thinking', 1, now(), 'ana', 'api',
            '{"content":"x"}', substring(sha256('salt') for 16), sha256('body'), null, 'default'
        from shape where s <= 2990 or n <> 3;
    insert into foja.leaves
        select 1, min(idx), array_agg((idx % 4)::integer order by idx), array_agg(entity_id order by idx),
            array_agg(n order by idx), string_agg(sha256('link'), '')
        from shape group by idx / 4;
    insert into foja.leaf_place
        select entity_id, 1, min(n), idx / 4 * 4 from shape group by entity_id, idx / 4;
    insert into foja.unsealed select entity_id, n from shape where s > 2990 and n > 3;
    insert into foja.pending (entity_id, seq, chain_hash)
        select array[entity_id], array[n + 9000], array[sha256('link')] from shape where n = 4 and s <= 300;
    insert into foja.slot (entity_id, seq, token, deadline, tenant)
        select entity_id, next_seq - i, md5('token')::uuid, now() + interval '1 hour', 'default'
        from foja.entity, generate_series(1, 10) i;
    insert into foja.checkpoint (origin, size, root, frontier, note, published_at)
        select 1, n * 100, sha256('root'), '', 'note', now() from generate_series(1, 200) n;
    analyze;
"""


def stream(n: int) -> UUID:
    """Return the id of stream `n`; 0 is the long one."""
    return UUID(hashlib.md5(f"stream{n}".encode()).hexdigest())


def fill(conn: Admin) -> None:
    conn.execute(query("recognise"))
    conn.execute(FILL)


@pytest.fixture(scope="module")
def full_template(copied: Copied, template: str) -> Iterator[str]:
    with filled(copied, template, fill) as name:
        yield name


def scans(conn: Admin) -> dict[str, tuple[int, int]]:
    """Return sequential scans and rows fetched so far in this transaction, of the tables that grow."""
    rows = conn.execute(
        """select relname, coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)
        from pg_stat_xact_user_tables where schemaname = 'foja' and relname = any (%s)""",
        [list(LARGE)],
    )
    return {name: (scanned, fetched) for name, scanned, fetched in rows}


def check(
    conn: Admin, statement: LiteralString, most: int, touches: set[str], /, **values: object
) -> list[tuple[Any, ...]]:
    """Run a statement; fail if it scans a large table, or fetches over `most` rows of one."""
    before = scans(conn)
    result = conn.execute(statement, values).fetchall()
    after = scans(conn)
    cost = {
        table: (after[table][0] - before[table][0], after[table][1] - before[table][1]) for table in LARGE
    }
    assert {table: scanned for table, (scanned, _) in cost.items() if scanned} == {}, statement
    assert {table: fetched for table, (_, fetched) in cost.items() if fetched > most} == {}, statement
    assert touches <= {table for table, (_, fetched) in cost.items() if fetched}, statement
    return result


MODES = pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan", "auto"])


@MODES
def test_reading_goes_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute("set local role foja_api; set local foja.tenant = 'default'")
    for n in range(1, ROUNDS):
        here: dict[str, object] = {"entity": stream(0), "tenant": "default"}
        assert len(check(full, query("read_tail"), 25, {"event"}, **here, after=400 * n, limit=20)) == 20
        assert len(check(full, query("read_tail"), 25, {"event"}, **here, after=4_989, limit=1000)) == 20
        assert (
            len(check(full, query("read_numbers"), 5, {"event"}, **here, seqs=[3, 300 * n, 5_005], limit=9))
            == 2
        )
        kin: dict[str, object] = {"tenant": "default", "domain": "conversation", "before": stream(n)}
        check(full, query("streams"), 20, {"entity"}, **kin, limit=20)
        recent: dict[str, object] = {"tenant": "default", "before": stream(n), "limit": 20}
        check(full, query("recent_conversations"), 250, {"entity", "event"}, **recent)
        assert check(full, query("stream_gaps"), 0, set(), **here) == [(0,)]
        assert check(full, query("most_gaps"), 0, set(), tenant="default", limit=10) == []
        state = check(full, query("stream_state"), 1, {"entity"}, **here)[0]
        assert state[1:] == (5_010, 5_000, "conversation")
        assert len(check(full, query("missing_numbers"), 30, {"event"}, **here, low=4_990, high=5_009)) == 10
        full.execute("set local role foja_sweeper")  # the log is that of all tenants
        span: dict[str, object] = {"origin": 1, "after": 1_500 * n, "size": 20_000}
        assert (
            len(check(full, query("read_log"), 120, {"event", "leaves"}, **span, limit=100)) >= 97
        )  # some leaves have no event here
        assert len(check(full, query("find_leaf"), 2, {"leaves", "leaf_place"}, entity=stream(n), seq=4)) == 1
        assert (
            len(check(full, query("leaves"), 130, {"leaves"}, origin=1, low=500 * n, high=500 * n + 500))
            == 500
        )
        check(full, query("published_checkpoint"), 0, set(), origin=1, idx=5_000)
        check(full, query("last_frontier"), 0, set(), origin=1, size=5_000)
        full.execute("set local role foja_api")


APPEND: LiteralString = f"select status from foja.append({NAMED})"
APPEND_EVENT: LiteralString = """select status from foja.append_event(
    %(entity)s, 'conversation', 'thinking', '{"content": "x"}', idempotency_key => %(key)s)"""
APPEND_BATCH: LiteralString = (
    f"select cardinality(seq), status from foja.append_drafts({BATCH_DRAFTS}, %(atomic)s, %(careful)s)"
)


FILL_SLOT: LiteralString = f"select status from foja.fill({NAMED}, %(seq)s, %(token)s)"
RESERVE: LiteralString = """select first_seq from foja.reserve(
    %(entity)s, %(domain)s, %(tenant)s, %(source)s, 3, interval '1 minute', null)"""
LANE_APPEND: LiteralString = f"select status from foja.lane_append({NAMED}, %(seq)s, %(fence)s)"
LANE_RESERVE: LiteralString = """select status from foja.lane_reserve(
    %(entity)s, 'conversation', 'default', 'api', 5, interval '1 minute', null, %(seq)s, %(fence)s)"""
MOVE: dict[str, object] = {
    "domain": "conversation", "tenant": "default", "source": "api", "lane": "redis", "run": "r", "rest": 30
}  # fmt: skip


@MODES
def test_appending_goes_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute("set local role foja_api; set local foja.tenant = 'default'")
    for n in range(1, ROUNDS):
        single = named(draft(CONVERSATION, stream(n), "thinking", {"content": "x"}, tenant="default"))
        assert check(full, APPEND, 10, {"entity"}, **single) == [("appended",)]
        assert check(full, APPEND_EVENT, 10, {"entity"}, entity=stream(n), key="k") == [("appended",)]
        again = check(full, APPEND_EVENT, 10, {"entity", "event"}, entity=stream(n), key="k")
        assert again == [("replayed",)]
        drafts = [
            draft(
                CONVERSATION,
                stream(n + 8 * k) if k % 2 else new_id(),
                "thinking",
                {"content": str(k)},
                tenant="default",
            )
            for k in range(32)
        ]
        batch = {**columns(drafts), "atomic": n % 2 == 0}
        fresh = check(full, APPEND_BATCH, 400, {"entity"}, **batch, careful=False)
        assert fresh == [(32, None)]
        again = check(full, APPEND_BATCH, 400, {"entity", "event"}, **batch, careful=True)
        assert again == [(32, ["replayed"] * 32)]


@MODES
def test_slots_go_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    token = full.execute("select token from foja.slot limit 1").fetchone()
    assert token is not None
    for n in range(1, ROUNDS):
        event = draft(CONVERSATION, stream(n), "thinking", {"content": "x"}, tenant="default")
        scope: dict[str, object] = {
            "entity": stream(n), "domain": "conversation", "tenant": "default", "source": "api"
        }  # fmt: skip
        full.execute("set local role foja_api; set local foja.tenant = 'default'")
        check(full, RESERVE, 10, {"entity"}, **scope)
        check(full, FILL_SLOT, 10, {"entity"}, **named(event), seq=5, token=token[0])
        check(full, query("void"), 10, {"entity"}, **scope, seq=6, token=token[0], actor="ana", reason="r")
        check(full, query("erase"), 20, {"entity", "event"}, **scope, seq=n % 5, actor=None, reason="r")
        full.execute("reset role")


@MODES
def test_the_sequencer_goes_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute("select foja.name_log_v1('plans', sha256('plans'))")
    for n in range(1, ROUNDS):
        full.execute("reset role")
        late = [stream(n), stream(n + 20)]
        full.execute("update foja.slot set deadline = now() where entity_id = any (%s)", [late])
        full.execute("set local role foja_sweeper")
        assert check(full, query("sweeps_due"), 0, set())[0][0]
        assert check(full, query("expire_slots"), 60, {"entity"}, streams=200) == [(20,)]
        assert check(full, query("seal_ready"), 200, {"entity", "event"}, streams=3, most=20)[0][0] > 0
        assert check(full, query("number_pending"), 0, set(), name="plans", most=20) == [(20,)]
        check(full, query("open_log"), 0, set(), name="plans")


ASK: LiteralString = """select status from foja.append_event(%(entity)s, 'conversation', 'approval_requested',
    jsonb_build_object('approval_id', %(name)s::text, 'tool_name', 'pay', 'tool_args', '{}'::jsonb,
        'expires_at', '2020-01-01T00:00:00Z'))"""


@MODES
def test_approvals_go_by_index(full: Admin, mode: str) -> None:
    """One conversation's approvals are found among its 5,000 events; the due ones without any of them."""
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    for n in range(1, ROUNDS):
        full.execute("set local role foja_api; set local foja.tenant = 'default'")
        assert check(full, ASK, 10, {"entity"}, entity=stream(0), name=f"a{n}") == [("appended",)]
        here: dict[str, object] = {"entity": stream(0), "tenant": "default"}
        assert (
            len(check(full, query("approvals"), 40, {"event"}, **here, approval=f"a{n}", decision=None)) == 1
        )
        full.execute("reset role")
        full.execute("set local role foja_sweeper")
        [(_, entity, event)] = check(full, query("due_approvals"), 0, set(), most=100, held=[])
        assert check(full, query("expire_approval"), 10, {"entity", "event"}, entity=entity, event=event) == [
            (True,)
        ]
        assert (
            check(full, query("approvals"), 60, {"event"}, **here, approval=None, decision=None)[-1][2]
            == "approval_completed"
        )


INSERT: LiteralString = """insert into message_events (session_id, event_type, sequence_number, data)
    values (%(session)s, 'thinking', %(seq)s, '{"content": "x"}') returning sequence_number"""
TAIL: LiteralString = """select * from message_events
    where session_id = %(session)s and sequence_number > %(after)s order by sequence_number limit 20"""
COUNTER: LiteralString = "select next_number from sequence_counters where session_id = %(session)s"
BATCH: LiteralString = "select start_sequence from reserve_sequence_batch(%(session)s, 3)"


@MODES
@pytest.mark.parametrize("role", ["service_role", "authenticated"])
def test_the_seeds_statements_go_by_index(full: Admin, mode: str, role: str) -> None:
    """Also MAX + 1 reads one event, however long the session is, and through row level security."""
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute(f"set local role {role}".encode())
    full.execute("set local foja.tenant = 'default'")
    for n in range(1, ROUNDS):
        assert check(full, FALLBACK, 4, {"event"}, session_id=stream(0)) == [(5_010,)]
        assert check(full, COUNTER, 2, {"entity"}, session=stream(0)) == [(5_010,)]
        assert len(check(full, TAIL, 5_020, {"event"}, session=stream(0), after=400 * n)) == 20
    if role == "authenticated":
        return
    for n in range(1, ROUNDS):
        assert check(full, INSERT, 12, {"entity"}, session=stream(n), seq=None) == [(15,)]
        assert check(full, INSERT, 12, {"entity"}, session=stream(n), seq=16) == [(16,)]
        assert check(full, BATCH, 12, {"entity"}, session=stream(n)) == [(17,)]


def test_a_plan_made_while_nothing_was_there_still_goes_by_index(admin: Admin) -> None:
    """As in the first minute of a new installation, before anybody counted its rows."""
    admin.execute(query("recognise"))
    one = new_id()

    def batch(size: int) -> dict[str, object]:
        drafts = [
            draft(CONVERSATION, one, "thinking", {"content": str(n)}, tenant="default") for n in range(size)
        ]
        return {**columns(drafts), "atomic": False, "careful": True}

    with admin.transaction(force_rollback=True):
        for size in (1, 32, 400, 400, 400):
            assert admin.execute(APPEND_BATCH, batch(size)).fetchone() == (size, None)
        assert check(admin, APPEND_BATCH, 60, {"entity"}, **batch(32)) == [(32, None)]


@MODES
def test_checking_one_stream_goes_by_index(full: Admin, mode: str) -> None:
    """Through a cursor, as `foja chat verify` reads: it is planned for the values it is given."""
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    full.execute("set local role foja_sweeper")
    names: list[LiteralString] = ["fsck_entities", "fsck_events", "fsck_places", "fsck_last_leaf"]
    for n in range(1, ROUNDS):
        before, values = scans(full), {"only": stream(n), "entity": stream(n), "origin": 1, "size": 20_000}
        for name in names:
            with full.cursor(name=f"{name}_{n}") as cursor:
                assert cursor.execute(query(name), values).fetchall()
        for table, (scanned, fetched) in scans(full).items():
            assert scanned == before[table][0], table
            assert fetched - before[table][1] <= 25, table


@MODES
def test_the_lanes_go_by_index(full: Admin, mode: str) -> None:
    full.execute(f"set local plan_cache_mode = {mode}".encode())
    for n in range(ROUNDS):
        full.execute("set local role foja_api; set local foja.tenant = 'default'")
        [(fence, _, seq, *_)] = check(
            full, query("move_lane"), 40, {"entity"}, **MOVE, entity=stream(n), seen=None
        )
        event = draft(CONVERSATION, stream(n), "thinking", {"content": "x"}, tenant="default")
        told = check(full, LANE_APPEND, 10, {"entity"}, **named(event), seq=seq, fence=fence)
        assert told == [("appended",)]
        here: dict[str, object] = {"entity": stream(n), "fence": fence}
        assert check(full, LANE_RESERVE, 10, {"entity"}, **here, seq=seq + 3) == [("reserved",)]
        assert check(full, query("claim_lanes"), 60, {"entity"}, entities=[stream(n)]) == [(1,)]
        full.execute("set local role foja_sweeper")
        check(full, query("void_holes"), 400, set(), streams=200, age=0)
        full.execute("reset role")
