"""Appending: once per key, in order, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foja import errors
from foja.app import App
from foja.engine.ledger.event import Event, new_id
from foja.pure.core import event as core
from foja.pure.core.canonical import canonical
from tests.database.schema.rows import SAID, Admin, check_stream, first_in_each, identity, rows, stored_body


async def test_the_first_number_is_zero_and_is_a_number(either_app: App) -> None:
    talk = await either_app.conversations.open()
    first = await talk.append("user_message_sent", SAID, expected_seq=0, idempotency_key="m-0")
    assert first.seq == 0
    assert first.cursor is not None
    assert [event.seq for event in await talk.events(after=first.cursor)] == []
    second = await talk.append("agent_message_sent", SAID, expected_seq=1)
    assert second.seq == 1
    assert [event.seq for event in await talk.events(after=0)] == [1]
    assert [event.seq for event in await talk.events(after=first.cursor)] == [1]
    with pytest.raises(errors.WrongExpectedSeq):
        await talk.append("user_message_sent", SAID, expected_seq=0)
    replayed = await talk.append("user_message_sent", SAID, expected_seq=0, idempotency_key="m-0")
    assert identity(replayed) == identity(first)


async def test_what_was_appended_is_what_is_read(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    payload = {"content": "é \U0001f600\n", "n": 1.0, "list": [0.1, None, {"b": 1, "a": 2}]}
    event = await talk.append("user_message_sent", payload, actor="ana")
    (read,) = await talk.events()
    assert read == event
    assert read.envelope()["correlation_id"] == str(talk.id)
    assert (read.actor, read.source, read.v) == ("ana", "api", 1)
    row = admin.execute("select payload::text, salt, body_hash, tenant from foja.event").fetchone()
    assert row is not None
    stored, salt, body_hash, tenant = row
    assert stored.encode() == canonical(payload)
    assert body_hash == core.body_hash(salt, core.body_bytes("ana", canonical(payload), "api", 1))
    assert tenant == "default"


async def test_message_is_another_name_of_agent_message_sent(either_app: App) -> None:
    talk = await either_app.conversations.open()
    event = await talk.append("message", SAID, idempotency_key="k")
    assert event.kind == "agent_message_sent"
    again = await talk.append("agent_message_sent", SAID, idempotency_key="k")
    assert identity(again) == identity(event)
    assert [each.kind for each in await talk.events()] == ["agent_message_sent"]


async def test_time_never_goes_back_within_a_stream(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    await talk.append("thinking", SAID)
    ahead = datetime.now(UTC) + timedelta(hours=1)
    admin.execute("update foja.entity set last_at = %s", [ahead])  # as if the clock had been set back since
    events = await asyncio.gather(*[talk.append("thinking", SAID) for _ in range(20)])
    events += await talk.append_many([talk.draft("thinking", SAID) for _ in range(3)])
    times = [event.at for event in await talk.events()]
    assert len(times) == 24
    assert times == sorted(times, key=lambda at: at or ahead)
    assert all(event.at is not None and event.at >= ahead for event in events)


async def test_an_executor_is_woken_only_for_the_kinds_it_waits_for(either_app: App, admin: Admin) -> None:
    quiet, woken, batched, filled = [await either_app.conversations.open() for _ in range(4)]
    await quiet.append("thinking", SAID)
    admin.execute("""
        insert into foja.job_type (type, domain, source, level)
        values ('look', 'conversation', 'looker', true);
        update foja.domain set executor = 'look';
        update foja.kind set wakes = true""")
    await woken.append("thinking", SAID)
    await batched.append_many([batched.draft("thinking", SAID)])
    slots = await filled.reserve(1)
    await slots.fill(0, "thinking", SAID)
    await either_app.work(until_idle=True)
    await woken.append("thinking", SAID)
    admin.execute("select foja.queue_woken_v1()")
    found = [row[0] for row in admin.execute("select entity_id from foja.job where state = 'queued'")]
    assert sorted(found) == sorted([woken.id, batched.id, filled.id])


async def test_the_same_key_again_returns_the_first_result(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    first = await talk.append("user_message_sent", SAID, idempotency_key="k", actor="ana")
    await talk.append("user_message_sent", {"content": "between"})
    again = await talk.append("user_message_sent", SAID, idempotency_key="k", actor="ana")
    assert again == first
    assert rows(admin)["event"] == 2


OTHERS: list[tuple[str, dict[str, Any], str | None]] = [
    ("user_message_sent", {"content": "other"}, "ana"),
    ("user_message_sent", {"content": "hi", "more": 0}, "ana"),
    ("thinking", SAID, "ana"),
    ("user_message_sent", SAID, "eva"),
    ("user_message_sent", SAID, None),
]


async def test_the_same_key_with_another_event_is_refused(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    await talk.append("user_message_sent", SAID, idempotency_key="k", actor="ana")
    before = rows(admin)
    for kind, payload, actor in OTHERS:
        with pytest.raises(errors.IdempotencyConflict, match=r"event 0.*another idempotency key"):
            await talk.append(kind, payload, idempotency_key="k", actor=actor)
        with pytest.raises(errors.IdempotencyConflict):
            await talk.append_many([talk.draft(kind, payload, idempotency_key="k", actor=actor)])
    assert rows(admin) == before


async def test_a_key_belongs_to_its_stream(either_app: App) -> None:
    one, two = [await either_app.conversations.open() for _ in range(2)]
    first = await one.append("user_message_sent", SAID, idempotency_key="k")
    second = await two.append("user_message_sent", {"content": "other"}, idempotency_key="k")
    assert (first.seq, second.seq) == (0, 0)
    assert first.id != second.id


async def test_an_erased_event_replays_without_its_body(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    first = await talk.append("user_message_sent", SAID, idempotency_key="k", actor="ana")
    await talk.erase(0, reason="asked")
    for payload in (SAID, {"content": "nobody can tell the difference any more"}):
        again = await talk.append("user_message_sent", payload, idempotency_key="k", actor="ana")
        assert identity(again) == identity(first)
        assert (again.payload, again.actor) == (None, None)
    (many,) = await talk.append_many([talk.draft("user_message_sent", SAID, idempotency_key="k")])
    assert identity(many) == identity(first)
    assert many.payload is None
    with pytest.raises(errors.IdempotencyConflict):
        await talk.append("thinking", SAID, idempotency_key="k")
    assert rows(admin)["event"] == 2


async def test_keys_outlive_the_process_and_the_log(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app() as app:
        talk = await app.conversations.open()
        first = await talk.append("user_message_sent", SAID, idempotency_key="k")
        await app.work(until_idle=True)
    async with open_app() as app:
        same = await app.conversations.open(str(talk.id))
        assert identity(await same.append("user_message_sent", SAID, idempotency_key="k")) == identity(first)
    assert rows(admin)["event"] == 1


async def test_callers_with_one_key_at_one_moment_get_one_event(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    callers = [talk.append("user_message_sent", SAID, idempotency_key="k") for _ in range(20)]
    events = await asyncio.gather(*callers)
    assert {identity(event) for event in events} == {identity(events[0])}
    assert rows(admin)["event"] == 1
    assert core.body_hash(*stored_body(admin, talk.id, 0)) == events[0].body_hash


async def test_callers_with_one_key_and_different_bodies_leave_one_winner(
    either_app: App, admin: Admin
) -> None:
    talk = await either_app.conversations.open()
    callers = [talk.append("thinking", {"content": str(n)}, idempotency_key="k") for n in range(20)]
    results = await asyncio.gather(*callers, return_exceptions=True)
    winners = [result for result in results if isinstance(result, Event)]
    assert len(winners) == 1
    assert sum(isinstance(result, errors.IdempotencyConflict) for result in results) == 19
    assert [event.payload for event in await talk.events()] == [winners[0].payload]


async def test_a_lone_caller_sends_by_itself_and_many_callers_share_calls(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    first = [await talk.append("thinking", {"content": str(n)}) for n in range(10)]
    many = [talk.append("thinking", {"content": str(n)}) for n in range(100)]
    gathered = await asyncio.gather(*many)
    last = await talk.append("thinking", SAID)
    assert [event.seq for event in first] == [*range(10)]
    assert sorted(event.seq for event in gathered) == [*range(10, 110)]
    assert last.seq == 110
    transactions = "select count(distinct xmin::text) from foja.event where seq between %s and %s"
    assert admin.execute(transactions, [0, 9]).fetchone() == (10,)
    [(shared,)] = admin.execute(transactions, [10, 109]).fetchall()
    assert shared < 50
    check_stream(admin, talk, 111)


async def test_a_lone_caller_is_told_what_a_batch_would_tell_it(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    event = await talk.append("thinking", SAID, idempotency_key="k")
    for _ in range(3):
        with pytest.raises(errors.IdempotencyConflict):
            await talk.append("user_message_sent", SAID, idempotency_key="k")
        assert identity(await talk.append("thinking", SAID, idempotency_key="k")) == identity(event)
        with pytest.raises(errors.WrongExpectedSeq):
            await talk.append("thinking", SAID, expected_seq=0)
    check_stream(admin, talk, 1)


async def test_append_many_keeps_the_order_given_in_every_stream(app: App, admin: Admin) -> None:
    talks = [await app.conversations.open() for _ in range(3)]
    drafts = [talks[n % 3].draft("thinking", {"content": str(n)}) for n in range(30)]
    events = await app.ledger.append_many(drafts)
    assert [event.id for event in events] == [event.event_id for event in drafts]
    assert [event.seq for event in events] == [n // 3 for n in range(30)]
    for talk in talks:
        check_stream(admin, talk, 10)


async def test_append_many_of_nothing_is_nothing(app: App, admin: Admin) -> None:
    assert await app.ledger.append_many([]) == []
    assert await app.ledger.append_each([]) == []
    assert rows(admin)["event"] == 0


async def test_append_many_checks_expected_numbers_inside_the_batch(app: App, admin: Admin) -> None:
    one, two = await first_in_each(app, 2)
    good = [
        one.draft("thinking", SAID, expected_seq=1),
        two.draft("thinking", SAID, expected_seq=1),
        one.draft("thinking", SAID, expected_seq=2),
        one.draft("thinking", SAID),
        one.draft("thinking", SAID, expected_seq=4),
    ]
    assert [event.seq for event in await app.ledger.append_many(good)] == [1, 1, 2, 3, 4]
    wrong = [
        one.draft("thinking", SAID),
        one.draft("thinking", SAID, expected_seq=5),
        two.draft("thinking", SAID),
    ]
    with pytest.raises(errors.WrongExpectedSeq, match=r"6.*5"):
        await app.ledger.append_many(wrong)
    check_stream(admin, one, 5)
    check_stream(admin, two, 2)


async def test_append_many_replays_what_was_written_before(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    first = await talk.append("thinking", SAID, idempotency_key="k")
    drafts = [talk.draft("thinking", {"content": "new"}), talk.draft("thinking", SAID, idempotency_key="k")]
    drafts += [talk.draft("thinking", {"content": "twice"}, idempotency_key="t") for _ in range(2)]
    events = await talk.append_many(drafts)
    assert [event.seq for event in events] == [1, 0, 2, 2]
    assert identity(events[1]) == identity(first)
    assert identity(events[2]) == identity(events[3])
    assert [identity(event) for event in await talk.append_many(drafts)] == [
        identity(event) for event in events
    ]
    check_stream(admin, talk, 3)


async def test_append_many_refuses_two_bodies_under_one_new_key(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    drafts = [talk.draft("thinking", {"content": str(n)}, idempotency_key="k") for n in range(2)]
    with pytest.raises(errors.IdempotencyConflict):
        await talk.append_many(drafts)
    assert rows(admin)["event"] == 0


async def test_append_each_gives_every_draft_its_own_verdict(app: App, admin: Admin) -> None:
    one, two = await first_in_each(app, 2)
    await one.append("thinking", SAID, idempotency_key="k")
    drafts = [
        one.draft("thinking", SAID),
        one.draft("thinking", {"content": "other"}, idempotency_key="k"),
        two.draft("thinking", SAID)._replace(payload='{"content":'),
        two.draft("thinking", SAID, expected_seq=1),
        two.draft("thinking", SAID, expected_seq=1),
        one.draft("thinking", SAID, idempotency_key="k"),
        two.draft("thinking", SAID, expected_seq=2),
    ]
    verdicts = await app.ledger.append_each(drafts)
    found = [verdict.seq if isinstance(verdict, Event) else type(verdict) for verdict in verdicts]
    assert found == [2, errors.IdempotencyConflict, errors.BadPayload, 1, errors.WrongExpectedSeq, 1, 2]
    check_stream(admin, one, 3)
    check_stream(admin, two, 3)


async def test_an_id_given_by_the_caller_makes_a_retry_safe(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    sent = talk.draft("thinking", SAID, event_id=new_id())
    first = await either_app.ledger.append(sent)
    assert identity(await either_app.ledger.append(sent)) == identity(first)
    other = talk.draft("thinking", {"content": "other"}, event_id=sent.event_id)
    with pytest.raises(errors.IdempotencyConflict):
        await either_app.ledger.append(other)
    check_stream(admin, talk, 1)


async def test_a_conversation_id_that_is_no_id_is_refused(app: App) -> None:
    with pytest.raises(errors.Refused):
        await app.conversations.open("nope")
