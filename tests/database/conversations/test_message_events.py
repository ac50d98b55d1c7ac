"""The seed's tables from SQL alone: what is inserted, reserved, read and refused."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from tests.cases import all_cases
from tests.database.schema.rows import SAID, Admin, check_stream, rows, stored_body
from tests.database.schema.seed import (
    APPEND_ONLY,
    DENIED,
    REFUSED,
    SESSION,
    as_owner,
    holding,
    insert,
    messages,
    next_seq,
    opened,
    refusal,
    reserve,
)
from tests.docs.pages import ROOT, blocks

TOOL = {"tool_use_id": "t", "tool_name": "n", "tool_result": 1.5, "success": True, "error_message": None}


@pytest.fixture
def writer(admin: Admin) -> Admin:
    admin.execute("set role service_role")
    return admin


async def test_an_insert_appends_and_returns_the_stored_row(app: App, writer: Admin) -> None:
    first, second = insert(writer, "hi"), insert(writer, {"b": 1.50, "content": ["é"]}, kind="message")
    assert (first.sequence_number, first.event_type, first.data) == (
        0,
        "user_message_sent",
        {"content": "hi"},
    )
    assert (second.sequence_number, second.event_type) == (1, "agent_message_sent")
    assert messages(writer) == [first, second]
    talk = await opened(app)
    events = await talk.events()
    assert [(e.id, e.seq, e.kind, e.at, e.payload, e.source) for e in events] == [
        (row.id, row.sequence_number, row.event_type, row.timestamp, row.data, "api")
        for row in (first, second)
    ]
    assert b'"payload":{"b":1.5,"content":["\xc3\xa9"]}' in stored_body(as_owner(writer), SESSION, 1)[1]
    check_stream(writer, talk, 2)


async def test_what_python_writes_is_read_by_sql(app: App, writer: Admin) -> None:
    talk = await opened(app)
    event = await talk.append("thinking", {"content": "hm", "turn": 1})
    (row,) = messages(writer)
    assert row == (event.id, SESSION, "thinking", 0, event.at, {"content": "hm", "turn": 1})


def test_many_rows_of_one_insert_keep_their_order(writer: Admin) -> None:
    other = UUID(int=0xF)
    found = writer.execute(
        """insert into message_events (session_id, event_type, data)
            select case when n %% 3 = 0 then %s else %s end, 'thinking',
                jsonb_build_object('content', n::text) from generate_series(0, 29) n
            returning session_id, sequence_number, data ->> 'content'""",
        [other, SESSION],
    ).fetchall()
    assert [int(content) for *_, content in found] == list(range(30))
    for session, length in ((other, 10), (SESSION, 20)):
        assert [seq for owner, seq, _ in found if owner == session] == list(range(length))
        assert [row.sequence_number for row in messages(writer, session)] == list(range(length))


def test_a_row_that_is_refused_takes_the_whole_insert_with_it(writer: Admin) -> None:
    two: LiteralString = """insert into message_events (session_id, event_type, data)
        values (%s, 'thinking', '{"content": "x"}'), (%s, 'shrugged', '{}')"""
    state, says = refusal(writer.execute, two, [SESSION, SESSION])
    assert (state, says.split(":")[0]) == (REFUSED, "unknown_kind")
    assert set(rows(as_owner(writer)).values()) == {0}


@all_cases(
    ("values", "says"),
    [
        ("null, 'thinking', '{\"content\": \"x\"}'", "bad_payload: a message needs session_id"),
        ("gen_random_uuid(), null, '{}'", "bad_payload: a message needs session_id"),
        ("gen_random_uuid(), 'thinking', null", "bad_payload: a message needs session_id"),
        ("gen_random_uuid(), 'thinking', '{}'", "bad_payload: bad_payload: thinking needs"),
        ("gen_random_uuid(), 'thinking', '[]'", "bad_payload: bad_payload: thinking needs"),
        ("gen_random_uuid(), 'slot.voided', '{\"reason\": \"x\"}'", "unknown_kind"),
        ("gen_random_uuid(), 'slot.open', '{}'", "unknown_kind"),
        ("gen_random_uuid(), 'message_chunk', '{\"content\": \"x\"}'", "unknown_kind"),
        ('gen_random_uuid(), \'thinking\', \'{"content": "x", "n": 9007199254740993}\'', "not_canonical"),
    ],
)
def test_what_cannot_be_said_is_refused_and_written_nowhere(values: str, says: str, writer: Admin) -> None:
    insert_row = f"insert into message_events (session_id, event_type, data) values ({values})"
    state, words = refusal(writer.execute, insert_row.encode())
    assert state == REFUSED
    assert says in words
    assert set(rows(as_owner(writer)).values()) == {0}


async def test_a_stream_of_another_tenant_is_refused(app: App, writer: Admin) -> None:
    await (await opened(app)).append("thinking", SAID)
    writer.execute("set foja.tenant = 'blue'")
    assert "unknown_entity" in refusal(insert, writer, "mine")[1]
    assert insert(writer, "mine", session=UUID(int=1)).sequence_number == 0
    assert as_owner(writer).execute("select tenant from foja.event order by tenant").fetchall() == [
        ("blue",),
        ("default",),
    ]


def test_a_given_number_must_be_the_next_one(writer: Admin) -> None:
    for seq in range(3):
        assert insert(writer, str(seq), next_seq(writer)).sequence_number == seq
    for wrong in (0, 2, 4, -1):
        state, says = refusal(insert, writer, "no", wrong)
        assert (state, says) == (REFUSED, f"wrong_expected_seq: the next number is 3, not {wrong}")
    assert insert(writer, "yes").sequence_number == 3


def test_the_same_id_is_the_same_event(writer: Admin) -> None:
    event_id = uuid4()
    first = insert(writer, "hi", event_id=event_id)
    insert(writer, "between")
    assert first.id == event_id
    assert insert(writer, "hi", event_id=event_id) == first
    assert insert(writer, "hi", 0, event_id=event_id) == first
    assert "idempotency_conflict" in refusal(insert, writer, "other", event_id=event_id)[1]
    assert "idempotency_conflict" in refusal(insert, writer, "hi", 2, event_id=event_id)[1]
    assert insert(writer, "hi", event_id=event_id, session=UUID(int=1)).sequence_number == 0
    assert [row.sequence_number for row in messages(writer)] == [0, 1]


def test_an_id_and_a_key_are_not_given_together(writer: Admin) -> None:
    call: LiteralString = """select foja.append_event(%s, 'conversation', 'thinking', '{"content": "x"}',
        idempotency_key => 'k', event_id => gen_random_uuid())"""
    assert "gets its id from the key" in refusal(writer.execute, call, [SESSION])[1]


def test_reserved_numbers_are_filled_with_their_token(writer: Admin) -> None:
    insert(writer, "before")
    seqs, token = reserve(writer, 3)
    assert seqs == [1, 2, 3]
    assert next_seq(writer) == 4
    assert [row.event_type for row in messages(writer)] == ["user_message_sent", *["slot.open"] * 3]
    assert insert(writer, "after").sequence_number == 4
    with holding(writer, token):
        for seq in (3, 1, 2):
            row = insert(writer, {**TOOL, "tool_use_id": str(seq)}, seq, kind="tool_use_completed")
            assert (row.sequence_number, row.data["tool_use_id"]) == (seq, str(seq))
        assert insert(writer, "at the head", 5).sequence_number == 5
        assert insert(writer, "at the head").sequence_number == 6
    assert [row.data.get("tool_use_id") for row in messages(writer)] == [
        None,
        "1",
        "2",
        "3",
        None,
        None,
        None,
    ]
    assert next_seq(writer) == 7


async def test_a_repeated_fill_replays_also_after_sealing(app: App, writer: Admin) -> None:
    (seq,), token = reserve(writer, 1)
    (other,), second = reserve(writer, 1)
    event_id = uuid4()
    with holding(writer, token):
        first = insert(writer, "result", seq)
        assert insert(writer, "result", seq) == first
    with holding(writer, second):
        named = insert(writer, "named", other, event_id=event_id)
    assert named.id == event_id
    await app.work(until_idle=True)
    with holding(writer, token):
        assert insert(writer, "result", seq) == first
        with pytest.raises(psycopg.Error, match="idempotency_conflict"), writer.transaction():
            insert(writer, "another", seq)
    assert insert(writer, "named", other, event_id=event_id) == named
    check_stream(as_owner(writer), await opened(app), 2)


async def test_a_fill_from_sql_and_one_from_python_are_the_same(app: App, writer: Admin) -> None:
    talk = await opened(app)
    slots = await talk.reserve(2, ttl=60)
    event = await slots.fill(0, "thinking", SAID)
    with holding(writer, slots.token):
        assert insert(writer, SAID, 0, kind="thinking").id == event.id
        row = insert(writer, SAID, 1, kind="thinking")
    assert (await slots.fill(1, "thinking", SAID)).id == row.id


async def test_a_number_of_somebody_else_is_refused(app: App, writer: Admin) -> None:
    (seq,), token = reserve(writer, 1)
    state, says = refusal(insert, writer, "mine", seq)
    assert state == REFUSED
    assert "number 0 is reserved; set foja.slot_token" in says
    with pytest.raises(psycopg.Error, match="slot_voided"), holding(writer, uuid4()):
        insert(writer, "mine", seq)
    with pytest.raises(psycopg.Error, match="uuid"), holding(writer, "nonsense"):
        insert(writer, "mine", seq)
    with holding(writer, token):
        insert(writer, "mine", seq)
    with pytest.raises(psycopg.Error, match="slot_voided"), holding(writer, uuid4()):
        insert(writer, "too late", seq)
    await app.work(until_idle=True)
    check_stream(as_owner(writer), await opened(app), 1)


async def test_a_reservation_ends_after_half_a_minute(app: App, writer: Admin) -> None:
    _, token = reserve(writer, 2)
    row = as_owner(writer).execute(
        "select extract(epoch from deadline - clock_timestamp()) from foja.slot where seq = 0"
    )
    assert 20 < (row.fetchone() or (0,))[0] <= 30
    writer.execute("update foja.slot set deadline = now() - interval '1 second'")
    writer.execute("set role service_role")
    with pytest.raises(psycopg.Error, match="slot_voided"), holding(writer, token):
        insert(writer, "late", 0)
    await app.work(until_idle=True)
    assert [(row.event_type, row.data) for row in messages(writer)] == [
        ("slot.voided", {"reason": "expired"})
    ] * 2
    assert next_seq(writer) == 2
    for count in (0, 257, None):
        says = refusal(writer.execute, "select reserve_sequence_batch(%s, %s)", [SESSION, count])[1]
        assert says.startswith("bad_reservation")
    longer = "select deadline > now() + interval '9 min' from reserve_sequence_batch(%s, 1, '10 min')"
    assert writer.execute(longer, [SESSION]).fetchone() == (True,)


async def test_an_erased_body_has_no_data(app: App, writer: Admin) -> None:
    event_id = uuid4()
    insert(writer, "secret", event_id=event_id)
    await (await opened(app)).erase(0, reason="asked")
    assert [row.data for row in messages(writer)] == [None, {"reason": "asked", "seq": 0}]
    again = insert(writer, "secret", event_id=event_id)
    assert (again.sequence_number, again.data) == (0, None)


def test_nothing_is_changed_or_deleted(writer: Admin) -> None:
    insert(writer, "kept")
    changes: list[LiteralString] = [
        "update message_events set data = '{}'",
        "update message_events set sequence_number = 5",
        "delete from message_events",
        "delete from message_events where sequence_number = 0",
    ]
    for change in changes:
        assert refusal(writer.execute, change)[0] == DENIED
    as_owner(writer)
    for change in changes:
        assert refusal(writer.execute, change)[0] == APPEND_ONLY
    counters: list[LiteralString] = [
        "update sequence_counters set next_number = 0",
        "delete from sequence_counters",
        "insert into sequence_counters values (gen_random_uuid(), 5)",
    ]
    for change in counters:
        assert refusal(writer.execute, change)[0] == APPEND_ONLY
    assert len(messages(writer)) == 1
    assert next_seq(writer) == 1


def test_only_conversations_appear(writer: Admin) -> None:
    insert(writer, "kept")
    as_owner(writer).execute("insert into foja.domain values ('other')")
    writer.execute("update foja.entity set domain = 'other'")
    assert messages(writer) == []
    assert writer.execute("select * from sequence_counters").fetchall() == []


def test_the_page_about_sql_runs_as_written(writer: Admin) -> None:
    statements = [block.text for block in blocks(ROOT / "docs" / "sql.md") if block.language == "sql"]
    assert len(statements) == 8
    *written, registered = statements
    for statement in written:
        writer.execute(statement.encode())
    query = "select data ->> 'content' from message_events where session_id = %s order by sequence_number"
    contents = [writer.execute(query, [f"0190e5a4-0000-7000-8000-00000000000{n}"]).fetchall() for n in (1, 2)]
    assert contents == [[("hi",), ("first",), ("second",)], [("once",)]]
    asked = writer.execute("select events -> 0 ->> 'kind' from document_entities")
    assert asked.fetchall() == [("document.protected.requested",)]
    places = writer.execute("select image_order, image_url from product_images").fetchall()
    assert places == [(0, "https://cdn.example.com/front.jpg")]
    owner = as_owner(writer)
    owner.execute(registered.encode())
    known = owner.execute("select kind from foja.kind where domain = 'parcel' and not reserved order by kind")
    assert known.fetchall() == [("parcel.packed",), ("parcel.sent",)]


@pytest.mark.parametrize("clause", ["on conflict do nothing", "ON  CONFLICT\nDO NOTHING"])
def test_on_conflict_without_an_id_is_refused(admin: Admin, clause: str) -> None:
    """PostgreSQL ignores the clause on a view; the same words inside of data are no clause."""
    admin.execute("set role service_role")
    statement = (
        "insert into public.message_events (session_id, event_type, data) values (%s, 'thinking', {data}) "
    )
    plain, spelled = """'{"content": "x"}'""", """'{"content": "on conflict do nothing"}'"""
    session = uuid4()
    with pytest.raises(psycopg.Error, match="bad_payload") as error:
        admin.execute((statement.replace("{data}", plain) + clause).encode(), [session])
    assert "give the insert an id" in (error.value.diag.message_detail or "")
    admin.execute(statement.replace("{data}", spelled).encode(), [session])
    with_id = statement.replace("(session_id", "(id, session_id").replace("(%s,", "(%s, %s,")
    identity = uuid4()
    for _ in range(2):
        admin.execute((with_id.replace("{data}", plain) + clause).encode(), [identity, session])
    count = "select count(*) from public.message_events where session_id = %s"
    assert admin.execute(count, [session]).fetchone() == (2,)


def test_the_documented_signatures_are_those_of_the_database(admin: Admin) -> None:
    """Every function for callers is in docs/sql.md with all of its arguments."""
    page = (ROOT / "docs" / "sql.md").read_text()
    names = [
        "append_event",
        "reserve",
        "extend",
        "fill_event",
        "void",
        "erase",
        "claim_jobs_v1",
        "heartbeat_jobs_v1",
    ]
    names += ["complete_job_v1", "fail_job_v1", "snooze_job_v1", "enqueue_job_v1"]
    found = admin.execute(
        "select format('foja.%%s(%%s)', proname, pg_get_function_arguments(oid)) from pg_proc"
        " where pronamespace = 'foja'::regnamespace and proname = any (%s)",
        [names],
    ).fetchall()
    assert len(found) == len(names)
    assert [text for (text,) in found if text not in page] == []
