"""Asking people: the first decision or expiry wins, on every way in, and a restart loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja import errors
from foja.app import App
from foja.domains.conversations import ConversationView
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import draft
from foja.pure.core import event as core
from foja.pure.core.canonical import canonical
from foja.pure.judge.render import as_text
from foja.pure.models.conversations.approvals import Decision, parse_time
from foja.pure.models.conversations.events import CONVERSATION
from tests.cases import all_cases
from tests.database.schema.rows import Admin, check_stream, outcome
from tests.drafts import DRAFT

PAST, FUTURE = "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"


def asked(name: str, due: str) -> dict[str, Any]:
    return {"approval_id": name, "tool_name": "pay", "tool_args": {}, "expires_at": due}


def decided(name: str, decision: str) -> dict[str, Any]:
    return {"approval_id": name, "decision": decision, "reason": None}


def waiting(admin: Admin) -> int:
    row = admin.execute("select count(*) from foja.approval_due").fetchone()
    assert row is not None
    return int(row[0])


async def completions(talk: Conversation) -> list[tuple[str, str | None]]:
    events = await talk.events()
    return [(each.payload["decision"], each.source) for each in events if each.kind == "approval_completed"]


async def test_ask_and_decide(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    asked = await talk.request_approval("pay", {"sum": 5}, tool_use_id="t", turn="t1", actor="agent")
    assert (asked.state, asked.tool_name, asked.tool_args, asked.tool_use_id) == (
        "requested",
        "pay",
        {"sum": 5},
        "t",
    )
    assert waiting(admin) == 1
    said = await talk.decide(asked.id, "approved", reason="fine", actor="ana")
    assert isinstance(said, Decision)
    assert (said.mine, said.decision, said.approval.reason, said.approval.decided_by) == (
        True,
        "approved",
        "fine",
        "ana",
    )
    assert await talk.approval(asked.id) == said.approval
    assert await talk.approvals() == [said.approval]
    assert waiting(admin) == 0
    events = await talk.events()
    assert [event.kind for event in events] == ["approval_requested", "approval_completed"]
    assert events[0].payload["turn"] == "t1"
    check_stream(admin, talk, 2)


async def test_a_second_decision_gets_the_first(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {})
    first = await talk.decide(asked.id, "denied", reason="no", actor="ana")
    other = await talk.decide(asked.id, "approved", actor="eva")
    same = await talk.decide(asked.id, "denied", reason="no", actor="ana")
    alike = await talk.decide(asked.id, "denied", reason="no", actor="eva")
    assert [(each.mine, each.decision) for each in (first, other, same, alike)] == [
        (True, "denied"),
        (False, "denied"),
        (True, "denied"),
        (False, "denied"),
    ]
    assert await completions(talk) == [("denied", "api")]


async def test_the_same_request_again_is_the_first(app: App) -> None:
    talk = await app.conversations.open()
    first = await talk.request_approval("pay", {"sum": 1}, approval_id="a", ttl=100)
    again = await talk.request_approval("pay", {"sum": 1}, approval_id="a", ttl=900)
    assert again == first
    assert len(await talk.events()) == 1


@all_cases("word", ["expired", "maybe", "", None])
async def test_only_yes_and_no_can_be_said(app: App, word: Any) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {})
    with pytest.raises(errors.BadPayload, match="approved"):
        await talk.decide(asked.id, word)
    assert (await talk.approval(asked.id)).open


async def test_what_nobody_asked_for_cannot_be_decided(app: App) -> None:
    talk = await app.conversations.open()
    elsewhere = await (await app.conversations.open()).request_approval("pay", {})
    for attempt in (talk.decide(elsewhere.id, "approved"), talk.approval("x"), talk.wait_for_approval("x")):
        with pytest.raises(errors.UnknownApproval, match="request_approval"):
            await attempt
    assert await talk.approvals() == []
    assert await talk.events() == []


@all_cases("ttl", [0, -1, float("inf"), float("nan"), 10**9])
async def test_a_time_that_makes_no_sense_is_refused(app: App, ttl: float) -> None:
    talk = await app.conversations.open()
    with pytest.raises(errors.BadPayload):
        await talk.request_approval("pay", {}, ttl=ttl)


async def test_work_writes_down_what_expired(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    await talk.append("approval_requested", asked("late", PAST))
    await talk.append_many([talk.draft("approval_requested", asked("later", PAST))])
    slots = await talk.reserve(1, ttl=60)
    await slots.fill(0, "approval_requested", asked("latest", PAST))
    await talk.append("approval_requested", asked("open", FUTURE))
    await talk.append("approval_requested", asked("never", "whenever"))
    await talk.append("approval_requested", asked("no such day", "2025-02-30T00:00:00Z"))
    assert (await talk.approval("late")).state == "expired"
    assert await completions(talk) == []
    await either_app.work(until_idle=True)
    assert await completions(talk) == [("expired", "sweeper")] * 3
    states = {each.id: each.state for each in await talk.approvals()}
    assert states == {
        **dict.fromkeys(("late", "later", "latest"), "expired"),
        **dict.fromkeys(("open", "never", "no such day"), "requested"),
    }
    assert waiting(admin) == 1
    await either_app.work(until_idle=True)
    assert len(await talk.events()) == 9
    check_stream(admin, talk, 9)


async def test_too_late_is_expired_also_where_nobody_swept(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append("approval_requested", asked("a", PAST))
    late = await talk.decide("a", "approved")
    assert (late.mine, late.decision) == (False, "expired")
    assert await completions(talk) == [("expired", "api")]
    await app.work(until_idle=True)
    assert await completions(talk) == [("expired", "api")]


async def test_waiting_ends_with_the_decision(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {}, ttl=120)
    wait = asyncio.ensure_future(talk.wait_for_approval(asked.id))
    await talk.append("thinking", {"content": "hm"})
    other = await talk.request_approval("pay", {}, ttl=120)
    await talk.decide(other.id, "denied")
    await asyncio.sleep(0)
    assert not wait.done()
    await talk.decide(asked.id, "approved", actor="ana")
    approval = await asyncio.wait_for(wait, 60)
    assert (approval.state, approval.decided_by) == ("approved", "ana")
    assert await talk.wait_for_approval(asked.id) == approval


async def test_waiting_ends_at_its_time_without_any_worker(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {}, ttl=0.2)
    approval = await asyncio.wait_for(talk.wait_for_approval(asked.id), 60)
    assert (approval.state, approval.decided_seq) == ("expired", 1)


async def test_waiting_survives_a_restart(open_app: Callable[..., App]) -> None:
    async with open_app() as one:
        talk = await one.conversations.open()
        asked = await talk.request_approval("pay", {"sum": 5}, approval_id="tool-7")
        wait = asyncio.ensure_future(talk.wait_for_approval(asked.id))
        await asyncio.sleep(0.05)
        wait.cancel()
        await asyncio.gather(wait, return_exceptions=True)
    async with open_app() as two, open_app() as person:
        talk = await two.conversations.open(talk.id)
        again = await talk.request_approval("pay", {"sum": 5}, approval_id="tool-7")
        assert again == asked
        wait = asyncio.ensure_future(talk.wait_for_approval(again.id))
        await (await person.conversations.open(talk.id)).decide("tool-7", "approved")
        assert (await asyncio.wait_for(wait, 60)).state == "approved"
    async with open_app() as three:
        talk = await three.conversations.open(talk.id)
        assert (await talk.wait_for_approval("tool-7")).state == "approved"


@all_cases(
    "words",
    [
        *(
            "2026-01-02T03:04:05Z",
            "2026-01-02t03:04:05z",
            "2026-01-02 03:04:05.123456+05:30",
            "2026-01-02T03:04:05",
        ),
        *("2026-01-02T03:04:05-0300", "2024-02-29T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"),
        *(
            "2026-01-02",
            "2025-02-29T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:60Z",
            "tomorrow",
            "",
        ),
        *(
            "0000-01-01T00:00:00Z",
            "2026-01-02T03:04:05+15:00",
            "infinity",
            "2026-01-02T03:04:05Z\n",
            "٢٠٢٦-01-02T00:00:00Z",
        ),
    ],
)
def test_python_and_sql_read_the_same_times(admin: Admin, words: str) -> None:
    row = admin.execute(
        "select foja.moment(%s) = %s, foja.moment(%s) is null", [words, parse_time(words), words]
    ).fetchone()
    assert row == ((None, True) if parse_time(words) is None else (True, False))


# Every way in.


async def test_python_gives_every_decision_its_key(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    first = await talk.append("approval_completed", decided("a", "approved"), idempotency_key="mine")
    again = await talk.append("approval_completed", decided("a", "approved"))
    assert again == first
    assert first.id == core.event_id_for(talk.id, "approval:a")
    with pytest.raises(errors.IdempotencyConflict):
        await talk.append_many(
            [talk.draft("approval_completed", decided("a", "denied"), idempotency_key="x")]
        )
    slots = await talk.reserve(1, ttl=60)
    with pytest.raises(errors.IdempotencyConflict):
        await slots.fill(0, "approval_completed", decided("a", "denied"))
    filled = await slots.fill(0, "approval_completed", decided("b", "denied"))
    assert filled.id == core.event_id_for(talk.id, "approval:b")
    with pytest.raises(errors.BadPayload):
        draft(
            CONVERSATION,
            talk.id,
            "approval_completed",
            decided("a", "denied"),
            event_id=uuid4(),
            tenant="default",
        )


async def test_sql_gives_every_decision_its_key(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {}, approval_id="a")
    say = """select status, event_id
        from foja.append_event(%s, 'conversation', 'approval_completed', %s, idempotency_key => %s)"""
    said = canonical(decided("a", "approved")).decode()
    first = admin.execute(say, [talk.id, said, "mine"]).fetchone()
    assert first == ("appended", core.event_id_for(talk.id, "approval:a"))
    assert admin.execute(say, [talk.id, said, None]).fetchone() == ("replayed", first[1])
    with pytest.raises(psycopg.Error, match="idempotency_conflict"):
        admin.execute(say, [talk.id, canonical(decided("a", "denied")).decode(), None])
    assert (await talk.decide(asked.id, "denied")).decision == "approved"


async def test_the_seed_s_insert_gives_every_decision_its_key(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("approval_requested", asked("a", FUTURE))
    insert = """insert into public.message_events (id, session_id, event_type, sequence_number, data)
        values (%s, %s, 'approval_completed', %s, %s) returning id"""
    row = admin.execute(
        insert, [uuid4(), talk.id, 1, canonical(decided("a", "approved")).decode()]
    ).fetchone()
    assert row == (core.event_id_for(talk.id, "approval:a"),)
    slots = await talk.reserve(1, ttl=60)
    admin.execute("select set_config('foja.slot_token', %s, false)", [str(slots.token)])
    said = canonical(decided("b", "denied")).decode()
    filled = admin.execute(insert, [uuid4(), talk.id, slots.seqs[0], said]).fetchone()
    assert filled == (core.event_id_for(talk.id, "approval:b"),)


@pytest.mark.parametrize("decision", ["approved", "perhaps"])
async def test_the_database_takes_no_decision_under_another_key(
    app: App, admin: Admin, decision: str
) -> None:
    talk = await app.conversations.open()
    await talk.append("approval_requested", asked("a", FUTURE))
    slots = await talk.reserve(1, ttl=60)
    payload = canonical(decided("a", decision)).decode()
    salt = b"s" * 16
    digest = core.body_hash(salt, core.body_bytes(None, payload.encode(), "api", 1))
    right, wrong = core.event_id_for(talk.id, "approval:a"), uuid4()
    sealed = [talk.id, "conversation", "default"]
    pairs = [(wrong, None), (wrong, "approval:a"), (right, None), (right, "mine")]
    for event, key in pairs if decision == "approved" else [(right, "approval:a")]:
        single = [*sealed, "approval_completed", 1, event, None, "api", payload, salt, digest, key, None]
        calls = {
            f"select foja.append({DRAFT})": single,
            f"select foja.fill({DRAFT}, %s, %s)": [*single, slots.seqs[0], slots.token],
        }
        for call, values in calls.items():
            with pytest.raises(psycopg.Error) as refusal:
                admin.execute(call.encode(), values)
            assert refusal.value.diag.message_primary == "bad_payload"
    assert [event.kind for event in await talk.events()] == ["approval_requested", "slot.open"]


async def test_a_refused_neighbour_does_not_hurt(either_app: App) -> None:
    """Two decisions on one approval in one batch: the first stands, the rest goes on."""
    talk = await either_app.conversations.open()
    drafts = [
        talk.draft("approval_completed", decided("a", "approved")),
        talk.draft("thinking", {"content": "x"}),
        talk.draft("approval_completed", decided("a", "denied")),
    ]
    one, two, three = await talk.append_each(drafts)
    assert not isinstance(one, Exception)
    assert not isinstance(two, Exception)
    assert isinstance(three, errors.IdempotencyConflict)


async def test_a_very_long_id_is_no_trouble(either_app: App, admin: Admin) -> None:
    """An id whose decision could not be recorded is refused with the request; the longest one expires."""
    app = either_app
    talk = await app.conversations.open()
    for name in ("x" * 1_016, "é" * 508, "x" * 100_000):
        with pytest.raises(errors.TooLarge):
            await talk.append("approval_requested", asked(name, PAST))
    assert admin.execute("select count(*) from foja.approval_due").fetchone() == (0,)
    name = "x" * 1_015
    await talk.append("approval_requested", asked(name, PAST))
    await app.work(until_idle=True)
    assert (await talk.approval(name)).decided_seq == 1


async def test_only_the_sweeper_may_expire(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("approval_requested", asked("a", PAST))
    for role in ("foja_api", "service_role", "authenticated", "anon"):
        admin.execute(f"set role {role}".encode())
        with pytest.raises(psycopg.Error):
            admin.execute("select foja.expire_approval(entity_id, event_id) from foja.approval_due")
        admin.execute("reset role")
    for statement in ("delete from foja.approval_due", "update foja.approval_due set due = now()"):
        admin.execute("set role foja_sweeper")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(statement.encode())
        admin.execute("reset role")


# What a decision says, and what can be erased.


async def test_a_decision_says_what_was_decided(either_app: App) -> None:
    """It held the id of its request alone; also the sweeper's says number, tool, digest and policy now."""
    talk = await either_app.conversations.open()
    await talk.append("thinking", {"content": "hm"})
    asked = await talk.request_approval("pay", {"sum": 5, "to": "é"}, policy="over 3")
    due = await talk.request_approval("mail", {}, ttl=0.01)
    await talk.decide(asked.id, "denied", reason="no", actor="ana")
    await asyncio.sleep(0.05)
    await either_app.work(until_idle=True)
    found = [event.payload for event in await talk.events() if event.kind == "approval_completed"]
    digest = sha256('{"sum":5,"to":"é"}'.encode()).hexdigest()
    assert found == [
        {
            "approval_id": asked.id,
            "decision": "denied",
            "reason": "no",
            "request_seq": 1,
            "tool_name": "pay",
            "args_sha256": digest,
            "policy": "over 3",
        },
        {
            "approval_id": due.id,
            "decision": "expired",
            "reason": None,
            "request_seq": 2,
            "tool_name": "mail",
            "args_sha256": sha256(b"{}").hexdigest(),
        },
    ]
    assert (await talk.approval(asked.id)).policy == "over 3"


async def test_a_decision_about_another_request_is_refused(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {"sum": 5})
    right = {"request_seq": 0, "tool_name": "pay", "args_sha256": sha256(b'{"sum":5}').hexdigest()}
    for wrong in ({"request_seq": 1}, {"tool_name": "mail"}, {"args_sha256": "0" * 64}):
        with pytest.raises(errors.BadPayload):
            await talk.append("approval_completed", decided(asked.id, "approved") | right | wrong, v=2)
    event = await talk.append("approval_completed", decided(asked.id, "approved") | right, v=2)
    assert (event.seq, (await talk.approval(asked.id)).state) == (1, "approved")


async def test_requests_and_decisions_can_be_erased(app: App) -> None:
    """An erased decision stays a decision: it cannot be made again. Its proof shows its place alone."""
    talk = await app.conversations.open()
    first = await talk.request_approval("pay", {"to": "ana"})
    second = await talk.request_approval("pay", {"to": "ben"}, ttl=120)
    await talk.decide(first.id, "approved", reason="she is ill", actor="eva")
    await talk.erase(2, reason="asked for")
    again = await talk.decide(first.id, "denied", actor="eva")
    assert (again.mine, again.decision, again.approval.decided_seq) == (False, "erased", 2)
    assert [each.state for each in await talk.approvals()] == ["erased", "requested"]
    items = ConversationView(await talk.events()).items()
    assert [item["state"] for item in items] == ["erased", "requested", "erased", None]
    await talk.erase(1, reason="asked for")
    with pytest.raises(errors.UnknownApproval):
        await talk.decide(second.id, "approved")
    await app.work(until_idle=True)
    report = (await talk.prove(2)).verify(app.trust)
    assert [each.reason for each in report.evidence] == ["BODY_ERASED"]


async def test_a_request_that_is_erased_while_it_is_decided_is_unknown(app: App) -> None:
    """It was said that fields which the caller never gave are not those of the request."""

    class Slow(Conversation):
        async def append(self, *given: Any, **more: Any) -> Any:
            await talk.erase(0, reason="asked for")
            return await super().append(*given, **more)

    talk = await app.conversations.open()
    await talk.request_approval("pay", {}, approval_id="a")
    with pytest.raises(errors.UnknownApproval):
        await Slow(talk.id, app.ledger, app.protect_stream).decide("a", "approved")


async def test_an_erased_request_expires_all_the_same(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {"to": "ana"}, ttl=0.2)
    await talk.erase(0, reason="asked for")
    await asyncio.sleep(0.3)
    await app.work(until_idle=True)
    last = (await talk.events())[-1]
    assert (last.v, last.payload) == (1, decided(asked.id, "expired"))


async def test_the_arguments_of_a_decision_are_in_its_proof_until_they_are_erased(app: App) -> None:
    talk = await app.conversations.open()
    asked = await talk.request_approval("pay", {"to": "ana"})
    await talk.decide(asked.id, "approved", actor="eva")
    await app.work(until_idle=True)
    assert (await talk.prove(1)).arguments == {"to": "ana"}
    assert '“eva” approved “pay” with “{"to":"ana"}”' in as_text((await talk.prove(1)).verify(app.trust))
    await talk.erase(0, reason="asked for")
    assert (await talk.prove(1)).arguments is None
    assert "approved “pay” with arguments whose SHA-256 is" in as_text(
        (await talk.prove(1)).verify(app.trust)
    )


# Races.


async def test_many_deciders_and_the_clock_at_once_leave_one_decision(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app() as one, open_app(micro_batch=False) as two:
        talk = await one.conversations.open()
        elsewhere = await two.conversations.open(talk.id)
        for turn in range(6):
            name = f"a{turn}"
            due = (datetime.now(UTC) + timedelta(milliseconds=15 * turn)).isoformat()
            await talk.append("approval_requested", asked(name, due))
            deciders = [
                (talk if n % 2 else elsewhere).decide(name, ("approved", "denied")[n % 3 % 2], actor=f"p{n}")
                for n in range(16)
            ]
            waiter = asyncio.ensure_future(elsewhere.wait_for_approval(name))
            results = await asyncio.gather(
                *map(outcome, [*deciders, one.work(until_idle=True), two.work(until_idle=True)])
            )
            said = [each for each in results if isinstance(each, Decision)]
            assert len(said) == 16
            assert results[16:] == [None, None]
            stands = await asyncio.wait_for(waiter, 60)
            assert {each.approval for each in map(frozen, said)} == {frozen(Decision(stands, False)).approval}
            assert sum(each.mine for each in said) == (0 if stands.state == "expired" else 1)
        assert len(await completions(talk)) == 6
        assert waiting(admin) == 0


def frozen(decision: Decision) -> Any:
    """Return a decision that can stand in a set."""
    approval = decision.approval
    parts = (approval.id, approval.state, approval.reason, approval.decided_by, approval.decided_seq)
    return type("Frozen", (), {"approval": parts})
