"""Several tools at once: answered in any order, read as they were asked, and none without an explanation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foja import errors
from foja.app import App
from foja.domains.conversations import ConversationView
from foja.domains.conversations.service import Conversation
from tests.cases import all_cases
from tests.database.schema.rows import Admin, check_stream

SEARCH = {"tool_name": "search", "tool_args": {"words": "foja"}}
CALLS = [{**SEARCH, "tool_use_id": name} for name in ("a", "b", "c")]


async def read(talk: Conversation) -> list[tuple[str, str | None, str | None]]:
    """Return the kinds, the tools and the states of a conversation as a person would see them."""
    items = ConversationView(await talk.events()).items()
    return [(each["kind"], (each["payload"] or {}).get("tool_use_id"), each["state"]) for each in items]


async def test_results_in_reverse_read_as_they_were_asked(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    await talk.append("user_message_sent", {"content": "find it"})
    async with talk.tools(CALLS, turn="t1", actor="agent") as tools:
        assert [use.tool_use_id for use in tools] == ["a", "b", "c"]
        for use in reversed(list(tools)):
            await use.complete({"found": use.tool_use_id})
    assert await read(talk) == [
        ("user_message_sent", None, None),
        *[("tool_use_requested", name, "completed") for name in "abc"],
        *[("tool_use_completed", name, "completed") for name in "abc"],
    ]
    events = await talk.events()
    assert [event.payload["result_seq"] for event in events[1:4]] == [4, 5, 6]
    assert {event.payload["turn"] for event in events[1:]} == {"t1"}
    assert {event.actor for event in events[1:]} == {"agent"}
    await either_app.work(until_idle=True)
    check_stream(admin, talk, 7)


async def test_running_them_by_name(app: App) -> None:
    """Good, slow, failing, unknown, unrecordable: each has its answer, in order."""
    talk = await app.conversations.open()
    ready = asyncio.Event()

    async def slow(words: str) -> str:
        await ready.wait()
        return words

    def quick() -> list[int]:
        ready.set()
        return [1]

    def broken() -> None:
        raise ZeroDivisionError("by zero")

    calls: list[dict[str, Any]] = [
        {"tool_name": "slow", "tool_args": {"words": "w"}},
        *[{"tool_name": name, "tool_args": {}} for name in ("broken", "nobody", "odd", "quick")],
    ]
    async with talk.tools(calls) as tools:
        results = await tools.run(
            {"slow": slow, "quick": quick, "broken": broken, "odd": lambda: float("nan")}
        )
    assert [event.seq for event in results] == [5, 6, 7, 8, 9]
    said = [(event.payload["success"], event.payload["tool_result"]) for event in results]
    assert said == [(True, "w"), (False, None), (False, None), (False, None), (True, [1])]
    messages = [event.payload["error_message"] for event in results]
    assert messages[1] == "ZeroDivisionError: by zero"
    assert "nobody" in messages[2]
    assert messages[3].startswith("NotCanonical: ")


async def test_one_denied_leaves_its_refusal(app: App, admin: Admin) -> None:
    """Decided first, reserved after: the approval stands before the result it gates."""
    talk = await app.conversations.open()
    asked = await talk.request_approval("search", {}, tool_use_id="b")
    await talk.decide(asked.id, "denied", reason="too dear")
    async with talk.tools(CALLS) as tools:
        await tools[2].complete(3)
        await tools[1].deny("too dear")
        await tools[0].complete(1)
    states = [each for each in await read(talk) if each[1] == "b"]
    assert states == [
        ("approval_requested", "b", "denied"),
        ("tool_use_requested", "b", "denied"),
        ("tool_use_completed", "b", "denied"),
    ]
    await app.work(until_idle=True)
    check_stream(admin, talk, 8)


async def test_one_crashed_is_voided_by_its_deadline_and_may_still_come_late(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    async with talk.tools(CALLS, ttl=60) as tools:
        await tools[0].complete(1)
        await tools[2].complete(3)
        admin.execute("update foja.slot set deadline = now()")  # as if this process had stopped beating
        await app.work(until_idle=True)
        assert (await read(talk))[1] == ("tool_use_requested", "b", "voided")
        assert (await read(talk))[4] == ("slot.voided", None, "voided")
        late = await tools[1].complete(2)
        assert late.seq == 6
        assert await tools[1].complete(2) == late
    assert (await read(talk))[1] == ("tool_use_requested", "b", "completed")
    await app.work(until_idle=True)
    check_stream(admin, talk, 7)


async def test_an_answer_twice_is_one_and_another_answer_is_refused(app: App) -> None:
    talk = await app.conversations.open()
    async with talk.tools(CALLS[:1]) as tools:
        first = await tools[0].complete(1)
        assert await tools[0].complete(1) == first
        with pytest.raises(errors.IdempotencyConflict):
            await tools[0].complete(2)
    assert len(await talk.events()) == 2


async def test_what_nobody_answered_is_voided_on_leaving(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()

    async def turn() -> None:
        async with talk.tools(CALLS[:2]) as tools:
            await tools[1].complete(2)
            raise KeyError("x")

    with pytest.raises(KeyError):
        await turn()
    async with talk.tools(CALLS[2:]):
        pass
    reasons = [event.payload["reason"] for event in await talk.events() if event.kind == "slot.voided"]
    assert reasons == ["abandoned: KeyError", "abandoned: nobody answered"]
    assert [each for each in await read(talk) if each[0] == "tool_use_requested"] == [
        ("tool_use_requested", "a", "voided"),
        ("tool_use_requested", "b", "completed"),
        ("tool_use_requested", "c", "voided"),
    ]
    await app.work(until_idle=True)
    check_stream(admin, talk, 6)


async def test_a_cancelled_turn_leaves_no_open_number(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    started = asyncio.Event()

    async def turn() -> None:
        async with talk.tools(CALLS[:1]):
            started.set()
            await asyncio.sleep(600)

    running = asyncio.ensure_future(turn())
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await talk.events())[1].payload == {"reason": "abandoned: CancelledError"}


async def test_a_long_tool_keeps_its_number_by_beating(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    async with talk.tools(CALLS[:1], ttl=3) as tools:
        first = due(admin)
        async with asyncio.timeout(60):
            while due(admin) == first:
                await asyncio.sleep(0.05)
        event = await tools[0].complete("at last")
    assert event.seq == 1


def due(admin: Admin) -> object:
    return admin.execute("select max(deadline) from foja.slot where state = 'open'").fetchone()


async def test_requests_written_before_are_not_written_again(app: App) -> None:
    talk = await app.conversations.open()
    for call in CALLS:
        await talk.append("tool_use_requested", call)
    async with talk.tools(CALLS, requested=True) as tools:
        await tools.run({"search": lambda words: words})
    assert await read(talk) == [
        *[("tool_use_requested", name, "completed") for name in "abc"],
        *[("tool_use_completed", name, "completed") for name in "abc"],
    ]


@all_cases(
    ("calls", "refusal"),
    [
        ([], errors.BadReservation),
        ([SEARCH] * 129, errors.BadReservation),
        ([{"tool_name": "x"}], errors.BadPayload),
        ([{**SEARCH, "tool_args": "x"}], errors.BadPayload),
        ([{**SEARCH, "tool_use_id": 5}], errors.BadPayload),
        ([SEARCH, {**SEARCH, "tool_args": {"n": float("nan")}}], errors.NotCanonical),
    ],
)
async def test_what_makes_no_sense_takes_no_number(
    app: App, calls: list[dict[str, Any]], refusal: type[errors.Refused]
) -> None:
    talk = await app.conversations.open()
    with pytest.raises(refusal):
        async with talk.tools(calls):
            pass
    assert await talk.events() == []
