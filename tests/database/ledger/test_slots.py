"""Slots: numbers promised before their events exist, filled in any order or voided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from foja import errors
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import MAX_BODY, Event
from tests.cases import all_cases
from tests.database.schema.rows import SAID, Admin, check_stream, identity, outcome, rows


def tool(n: int) -> dict[str, Any]:
    return {
        "tool_use_id": f"t{n}",
        "tool_name": "search",
        "tool_result": {"n": n},
        "success": True,
        "error_message": None,
    }


def state(admin: Admin, talk: Conversation) -> tuple[int, int]:
    """Return the next number of a stream, and how far it is sealed."""
    row = admin.execute("select next_seq, sealed from foja.entity where entity_id = %s", [talk.id]).fetchone()
    assert row is not None
    return row[0], row[1]


async def kinds(talk: Conversation) -> list[tuple[int, str]]:
    return [(event.seq, event.kind) for event in await talk.events()]


def expire(admin: Admin) -> None:
    """Let every open slot's time run out now."""
    admin.execute("update foja.slot set deadline = clock_timestamp() where state = 'open'")


async def test_reserve_three_fill_two_of_them_and_let_one_expire(app: App, admin: Admin) -> None:
    """The slot expires because its deadline is moved, not because a second passes."""
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    slots = await talk.reserve(3, ttl=600, intents=["first", {"tool": "search"}, None])
    assert slots.seqs == (1, 2, 3)
    filled = [await slots.fill(n, "tool_use_completed", tool(n)) for n in (2, 0)]
    assert [(event.seq, event.cursor) for event in filled] == [(3, None), (1, None)]
    events = await talk.events()
    assert [(event.seq, event.kind) for event in events] == [
        (0, "user_message_sent"),
        (1, "tool_use_completed"),
        (2, "slot.open"),
        (3, "tool_use_completed"),
    ]
    placeholder = events[2]
    assert placeholder.open
    assert (placeholder.id, placeholder.at, placeholder.body_hash) == (None, None, None)
    assert placeholder.payload["intent"] == {"tool": "search"}
    assert datetime.fromisoformat(placeholder.payload["deadline"]) == slots.deadline
    assert [event.cursor is None for event in events] == [False, False, True, True]
    await app.work(until_idle=True)
    assert state(admin, talk) == (4, 2)

    expire(admin)
    await app.work(until_idle=True)
    voided = (await talk.events())[2]
    assert (voided.kind, voided.payload, voided.source) == ("slot.voided", {"reason": "expired"}, "sweeper")
    assert all(event.cursor is not None for event in await talk.events())
    check_stream(admin, talk, 4)
    assert rows(admin)["slot"] == 0
    assert rows(admin)["unsealed"] == 0

    with pytest.raises(errors.SlotVoided, match="append at the head"):
        await slots.fill(1, "tool_use_completed", tool(1))
    late = await talk.append("tool_use_completed", tool(1))
    assert late.seq == 4
    check_stream(admin, talk, 5)


async def test_slots_filled_out_of_order_read_back_in_order(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(5, ttl=60)
    for ordinal in (3, 0, 4, 2, 1):
        await slots.fill(ordinal, "tool_use_completed", tool(ordinal), actor="agent")
    assert [event.payload["tool_use_id"] for event in await talk.events()] == [f"t{n}" for n in range(5)]
    assert {event.actor for event in await talk.events()} == {"agent"}
    await app.work(until_idle=True)
    check_stream(admin, talk, 5)


async def test_an_intent_may_be_any_value_and_there_is_one_for_each_number(app: App) -> None:
    talk = await app.conversations.open()
    with pytest.raises(errors.BadReservation, match="3 numbers need 3 intents, not 2"):
        await talk.reserve(3, ttl=60, intents=["a", "b"])
    with pytest.raises(errors.NotCanonical):
        await talk.reserve(1, ttl=60, intents=["\ud800"])
    assert await talk.events() == []
    intents = ["text", 0, False, None, [1], {"é": {}}]
    await talk.reserve(6, ttl=60, intents=intents)
    await talk.reserve(1, ttl=60)
    assert [event.payload["intent"] for event in await talk.events()] == [*intents, None]


@all_cases("count", [-1, 0, 257, 2**31, 2**63])
async def test_a_reservation_holds_1_to_256_numbers(app: App, admin: Admin, count: int) -> None:
    talk = await app.conversations.open()
    with pytest.raises(errors.BadReservation):
        await talk.reserve(count, ttl=60)
    assert rows(admin)["slot"] == 0
    assert admin.execute("select count(*) from foja.entity").fetchone() == (0,)


@all_cases("ttl", [-1, 0, 3601, 1e9])
async def test_a_reservation_holds_for_up_to_an_hour(app: App, admin: Admin, ttl: float) -> None:
    talk, before = await app.conversations.open(), rows(admin)["slot"]
    with pytest.raises(errors.BadReservation):
        await talk.reserve(1, ttl=ttl)
    slots = await talk.reserve(1, ttl=60)
    with pytest.raises(errors.BadReservation):
        await slots.extend(ttl)
    assert rows(admin)["slot"] == before + 1


@pytest.mark.parametrize("ttl", [float("nan"), float("inf")])
async def test_a_time_that_is_none_is_refused(app: App, admin: Admin, ttl: float) -> None:
    talk = await app.conversations.open()
    with pytest.raises(errors.Refused):
        await talk.reserve(1, ttl=ttl)
    assert rows(admin)["slot"] == 0


async def test_the_largest_reservation_fits(app: App) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(256, ttl=3600)
    assert slots.seqs == tuple(range(256))
    with pytest.raises(errors.BadReservation):
        await slots.fill(256, "thinking", SAID)
    with pytest.raises(errors.BadReservation):
        await slots.void(-1, reason="r")


async def test_a_repeated_fill_replays_also_after_sealing(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    first = await slots.fill(0, "tool_use_completed", tool(0))
    assert identity(await slots.fill(0, "tool_use_completed", tool(0))) == identity(first)
    await slots.void(1, reason="denied")
    await app.work(until_idle=True)
    assert state(admin, talk) == (2, 2)
    assert identity(await slots.fill(0, "tool_use_completed", tool(0))) == identity(first)
    check_stream(admin, talk, 2)


async def test_a_fill_with_another_body_is_refused(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    await slots.fill(0, "tool_use_completed", tool(0))
    for _ in ("before sealing", "after"):
        with pytest.raises(errors.IdempotencyConflict):
            await slots.fill(0, "tool_use_completed", tool(1))
        with pytest.raises((errors.SlotFilled, errors.SlotVoided)):
            await slots.fill(0, "tool_use_completed", tool(1), idempotency_key="another")
        assert await kinds(talk) == [(0, "tool_use_completed")]
        await app.work(until_idle=True)
    check_stream(admin, talk, 1)


async def test_a_number_that_is_filled_says_so(app: App) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    await slots.fill(0, "thinking", SAID)
    with pytest.raises(errors.SlotFilled, match="number 0"):
        await slots.fill(0, "thinking", SAID, idempotency_key="another")
    with pytest.raises(errors.SlotFilled):
        await slots.void(0, reason="too late")
    assert await kinds(talk) == [(0, "thinking")]


async def test_a_fill_may_bring_its_own_key(app: App, admin: Admin) -> None:
    """A key has 1 to 1,024 bytes: absence is None."""
    talk = await app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    for wrong, refusal in (("", errors.BadPayload), ("é" * 513, errors.TooLarge)):
        with pytest.raises(refusal):
            await slots.fill(0, "thinking", SAID, idempotency_key=wrong)
    for ordinal, key in enumerate(("k", "é" * 512)):
        filled = await slots.fill(ordinal, "thinking", SAID, idempotency_key=key)
        assert identity(await talk.append("thinking", SAID, idempotency_key=key)) == identity(filled)
        assert identity(await slots.fill(ordinal, "thinking", SAID, idempotency_key=key)) == identity(filled)
    await app.work(until_idle=True)
    check_stream(admin, talk, 2)


async def test_voiding_twice_is_harmless(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    for _ in ("open", "voided"):
        await slots.void(0, reason="denied")
    await slots.fill(1, "thinking", SAID)
    await app.work(until_idle=True)
    await slots.void(0, reason="said after sealing")
    first, _ = await talk.events()
    assert (first.kind, first.payload, first.source) == ("slot.voided", {"reason": "denied"}, "api")
    with pytest.raises(errors.SlotVoided):
        await slots.fill(0, "thinking", SAID)
    with pytest.raises((errors.SlotFilled, errors.SlotVoided)):
        await slots.void(1, reason="filled and sealed")
    check_stream(admin, talk, 2)


@pytest.mark.parametrize("reason", ["a\0b", "\ud800"])
async def test_a_reason_that_cannot_be_stored_is_refused(app: App, admin: Admin, reason: str) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    with pytest.raises(errors.NotCanonical):
        await slots.void(0, reason=reason)
    assert await kinds(talk) == [(0, "slot.open")]


async def test_what_is_said_about_a_slot_is_bounded_too(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    with pytest.raises(errors.TooLarge):
        await talk.reserve(1, ttl=60, intents=["x" * MAX_BODY])
    slots = await talk.reserve(1, ttl=60)
    with pytest.raises(errors.TooLarge):
        await slots.void(0, reason="x" * MAX_BODY)
    assert await kinds(talk) == [(0, "slot.open")]


async def test_a_fill_that_was_erased_replays_without_its_body(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    filled = await slots.fill(0, "thinking", SAID)
    await talk.erase(0, reason="asked")
    again = await slots.fill(0, "thinking", SAID)
    assert identity(again) == identity(filled)
    assert again.payload is None


async def test_an_extension_keeps_open_numbers_and_only_these(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    await slots.void(0, reason="denied")
    with pytest.raises(errors.BadReservation):
        await slots.extend(3_601)
    deadline = await slots.extend(3_600)
    assert timedelta(minutes=50) < deadline - datetime.now(UTC) <= timedelta(hours=1)
    admin.execute(
        "update foja.slot set deadline = deadline - interval '30 minutes'"
    )  # past the first deadline
    await app.work(until_idle=True)
    assert await kinds(talk) == [(0, "slot.voided"), (1, "slot.open")]
    assert (await slots.fill(1, "thinking", SAID)).seq == 1
    with pytest.raises(errors.SlotVoided):
        await slots.extend(600)


async def test_what_has_expired_cannot_be_extended(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    expire(admin)
    with pytest.raises(errors.SlotVoided):
        await slots.extend(600)
    await app.work(until_idle=True)
    assert await kinds(talk) == [(0, "slot.voided")]


async def test_a_late_fill_is_refused_before_any_sweep_too(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    expire(admin)
    for _ in range(2):
        with pytest.raises(errors.SlotVoided):
            await slots.fill(0, "thinking", SAID)
    assert await kinds(talk) == [(0, "slot.voided")]
    await app.work(until_idle=True)
    check_stream(admin, talk, 1)


async def test_a_wrong_token_opens_nothing(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    forged = replace(slots, token=uuid4())
    with pytest.raises(errors.SlotVoided):
        await forged.fill(0, "thinking", SAID)
    with pytest.raises(errors.SlotVoided):
        await forged.void(0, reason="mine")
    with pytest.raises(errors.SlotVoided):
        await forged.extend(60)
    other = await app.conversations.open()
    with pytest.raises(errors.SlotVoided):
        await replace(slots, entity_id=other.id).fill(0, "thinking", SAID)
    assert admin.execute("select entity_id from foja.entity").fetchall() == [(talk.id,)]
    assert await kinds(talk) == [(0, "slot.open")]
    assert (await slots.fill(0, "thinking", SAID)).seq == 0


@all_cases(
    ("kind", "payload", "expected"),
    [
        ("slot.voided", {"reason": "r"}, errors.UnknownKind),
        ("body.erased", {"reason": "r", "seq": 0}, errors.UnknownKind),
        ("slot.open", {}, errors.UnknownKind),
        ("thinking", {}, errors.BadPayload),
        ("thinking", {"content": "\0"}, errors.NotCanonical),
    ],
)
async def test_a_bad_fill_leaves_the_slot_open(
    app: App, kind: str, payload: dict[str, Any], expected: type[errors.Refused]
) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    with pytest.raises(expected):
        await slots.fill(0, kind, payload)
    assert await kinds(talk) == [(0, "slot.open")]
    assert (await slots.fill(0, "thinking", SAID)).seq == 0


async def test_racing_fills_with_one_body_are_one_event(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    events = await asyncio.gather(*[slots.fill(0, "thinking", SAID) for _ in range(8)])
    assert {identity(event) for event in events} == {identity(events[0])}
    assert rows(admin)["event"] == 1


@pytest.mark.parametrize("key", [None, "own"])
async def test_racing_fills_with_different_bodies_leave_one_winner(
    app: App, admin: Admin, key: str | None
) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    fills = [
        slots.fill(0, "thinking", {"content": str(n)}, idempotency_key=key and f"{key}{n}") for n in range(8)
    ]
    results = await asyncio.gather(*map(outcome, fills))
    winners = [result for result in results if isinstance(result, Event)]
    refused = errors.SlotFilled if key else errors.IdempotencyConflict
    assert len(winners) == 1
    assert sum(isinstance(result, refused) for result in results) == 7
    assert [event.payload for event in await talk.events()] == [winners[0].payload]


async def test_racing_fill_and_void_leave_one_winner(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(20, ttl=60)
    fills = [slots.fill(n, "thinking", SAID) for n in range(20)]
    voids = [slots.void(n, reason="denied") for n in range(20)]
    results = await asyncio.gather(
        *[outcome(call) for pair in zip(fills, voids, strict=True) for call in pair]
    )
    for n, (fill, void) in enumerate(zip(results[::2], results[1::2], strict=True)):
        kind = (await talk.events(after=n - 1, limit=1))[0].kind
        if kind == "thinking":
            assert isinstance(fill, Event)
            assert isinstance(void, errors.SlotFilled)
        else:
            assert (kind, void) == ("slot.voided", None)
            assert isinstance(fill, errors.SlotVoided)
    await app.work(until_idle=True)
    check_stream(admin, talk, 20)


async def test_a_reservation_lost_in_a_crash_is_void(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    lost = await talk.reserve(2, ttl=60)
    admin.execute("delete from foja.slot")  # what recovery does: the commit had not reached the disk
    admin.execute("update foja.entity set next_seq = 1")
    for attempt in (lost.fill(0, "thinking", SAID), lost.void(1, reason="r"), lost.extend(60)):
        assert isinstance(await outcome(attempt), errors.SlotVoided)
    kept = await talk.reserve(1, ttl=60)
    assert kept.seqs == (1,)
    assert isinstance(await outcome(lost.fill(0, "thinking", {"content": "old"})), errors.SlotVoided)
    await kept.fill(0, "thinking", SAID)
    assert isinstance(await outcome(lost.fill(0, "thinking", {"content": "old"})), errors.SlotVoided)
    assert (await talk.append("thinking", SAID)).seq == 2
    await app.work(until_idle=True)
    check_stream(admin, talk, 3)


async def test_events_above_an_open_slot_wait_and_then_seal_in_order(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    await talk.append("user_message_sent", SAID)
    slots = await talk.reserve(2, ttl=60)
    above = await asyncio.gather(*[talk.append("thinking", {"content": str(n)}) for n in range(5)])
    above += await talk.append_many([talk.draft("thinking", {"content": str(n)}) for n in range(5, 8)])
    assert sorted(event.seq for event in above) == list(range(3, 11))
    assert {event.cursor for event in above} == {None}
    await either_app.work(until_idle=True)
    assert state(admin, talk) == (11, 1)
    await slots.fill(1, "thinking", SAID)
    await either_app.work(until_idle=True)
    assert state(admin, talk) == (11, 1)
    await slots.fill(0, "thinking", SAID)
    assert state(admin, talk) == (11, 1)  # a fill never seals by itself
    assert (await talk.append("thinking", SAID)).cursor is None
    await either_app.work(until_idle=True)
    check_stream(admin, talk, 12)
    assert (await talk.append("thinking", SAID)).cursor is not None
    await either_app.work(until_idle=True)
    order = [event.seq for event in await either_app.ledger.log.events(None, 100)]
    assert order == list(range(13))


async def test_expected_numbers_count_open_slots(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    slots = await talk.reserve(2, ttl=60)
    with pytest.raises(errors.WrongExpectedSeq):
        await talk.append("thinking", SAID, expected_seq=0)
    assert (await talk.append("thinking", SAID, expected_seq=2)).seq == 2
    many = [talk.draft("thinking", SAID, expected_seq=seq) for seq in (3, 4)]
    assert [event.seq for event in await talk.append_many(many)] == [3, 4]
    await slots.void(0, reason="r")
    with pytest.raises(errors.WrongExpectedSeq):
        await talk.append("thinking", SAID, expected_seq=0)
    assert (await talk.append("thinking", SAID, expected_seq=5)).seq == 5


async def test_another_tenant_cannot_use_a_reservation(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app() as ours, open_app(tenant="other") as theirs:
        talk = await ours.conversations.open()
        slots = await talk.reserve(2, ttl=60)
        elsewhere = await (await theirs.conversations.open()).reserve(1, ttl=60)
        stolen = replace(elsewhere, entity_id=slots.entity_id, seqs=slots.seqs, token=slots.token)
        for attempt in (stolen.fill(0, "thinking", SAID), stolen.void(1, reason="r"), stolen.extend(600)):
            assert isinstance(await outcome(attempt), errors.Refused)
        assert await kinds(talk) == [(0, "slot.open"), (1, "slot.open")]
        (due,) = admin.execute(
            "select distinct deadline from foja.slot where entity_id = %s", [talk.id]
        ).fetchall()
        assert due == (slots.deadline,)


async def test_many_reservations_take_turns(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    taken = await asyncio.gather(*[talk.reserve(3, ttl=60) for _ in range(8)])
    assert sorted(seq for slots in taken for seq in slots.seqs) == list(range(24))
    assert len({slots.token for slots in taken}) == 8
    await asyncio.gather(*[slots.fill(n, "thinking", SAID) for slots in taken for n in (2, 0, 1)])
    await app.work(until_idle=True)
    check_stream(admin, talk, 24)


async def test_another_process_can_go_on_with_a_reservation(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app() as one:
        talk = await one.conversations.open()
        slots = await talk.reserve(2, ttl=60)
        first = await slots.fill(0, "thinking", SAID)
    async with open_app() as two:
        resumed = await (await two.conversations.open(talk.id)).reserve(1, ttl=60)
        again = replace(resumed, seqs=slots.seqs, token=slots.token)
        assert identity(await again.fill(0, "thinking", SAID)) == identity(first)
        assert (await again.fill(1, "thinking", SAID)).seq == 1


async def test_only_a_bounded_number_of_streams_expires_at_a_time(app: App, admin: Admin) -> None:
    talks = [await app.conversations.open() for _ in range(5)]
    for talk in talks:
        await talk.reserve(3, ttl=60)
    expire(admin)
    admin.execute("set role foja_sweeper")
    expired = [admin.execute("select foja.expire_slots(2)").fetchone() for _ in range(4)]
    assert expired == [(6,), (6,), (3,), (0,)]
    sealed = [admin.execute("select foja.seal_ready(2, 2)").fetchone() for _ in range(7)]
    assert sealed == [(4,), (2,), (4,), (2,), (2,), (1,), (0,)]
    admin.execute("reset role")
    for talk in talks:
        check_stream(admin, talk, 3)
