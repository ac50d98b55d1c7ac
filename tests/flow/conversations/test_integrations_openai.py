"""The session for the OpenAI Agents SDK: items are returned unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse
from agents.memory import SessionSettings
from agents.memory.session import Session
from agents.models.interface import Model
from agents.usage import Usage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from foja.app import App
from foja.integrations.openai_agents import LedgerSession, conversation_id
from foja.integrations.openai_agents.items import KINDS, event_of, item_of, opaque_event
from foja.pure.core.canonical import canonical

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"role": "system", "content": "be brief"},
    {"content": "no role at all"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
    },
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "x",
    },
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1,"b":2}', "id": "fc_1"},
    {"type": "function_call", "call_id": "c2", "name": "add", "arguments": '{"b": 2, "a": 1}'},
    {"type": "function_call", "call_id": "c3", "name": "add", "arguments": "not json"},
    {"type": "function_call", "call_id": "c4", "name": "add", "arguments": "[1]"},
    {"type": "function_call_output", "call_id": "c1", "output": "3"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "3"}]},
    {"type": "function_call_output", "call_id": "c9", "output": {"odd": True}},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    {"type": "item_reference", "id": "rs_1"},
    {"role": "user", "content": "a \x00 in the middle"},
    {"type": "function_call_output", "call_id": "c3", "output": "half \ud800"},
    {"role": "user", "content": "big", "number": 2**60, "share": 0.1},
    {"type": "function_call", "call_id": "", "name": "", "arguments": '{"n":1e999}'},
]


async def items_of(session: LedgerSession) -> list[Any]:
    return list(await session.get_items())


async def test_it_is_a_session_of_the_sdk(app: App) -> None:
    assert isinstance(LedgerSession("s", app), Session)
    a, b = app.tenant("a"), app.tenant("b")
    assert conversation_id(a, "s") == conversation_id(a, "s") != conversation_id(a, "t")
    assert conversation_id(a, "s") != conversation_id(b, "s")
    own = conversation_id(a, "3f2504e0-4f89-11d3-9a0c-0305e82c3301")
    assert str(own) == "3f2504e0-4f89-11d3-9a0c-0305e82c3301"


async def test_items_are_returned_unchanged(app: App) -> None:
    session = LedgerSession("all sorts", app)
    await session.add_items(ITEMS[:3])  # type: ignore[arg-type]
    await session.add_items(ITEMS[3:])  # type: ignore[arg-type]
    await session.add_items([])
    assert await items_of(session) == ITEMS
    assert await items_of(LedgerSession("all sorts", app)) == ITEMS
    assert await items_of(LedgerSession("another", app)) == []


@pytest.mark.parametrize("limit", [0, -1, 1, 4, len(ITEMS), 99])
async def test_a_limit_means_the_latest(app: App, limit: int) -> None:
    session = LedgerSession("limited", app, session_settings=SessionSettings(limit=limit))
    await session.add_items(ITEMS)  # type: ignore[arg-type]
    assert await session.get_items() == (ITEMS[-limit:] if limit > 0 else [])
    assert await session.get_items(2) == ITEMS[-2:]


async def test_a_conversation_reads_as_a_conversation(app: App) -> None:
    session = LedgerSession("read", app)
    await session.add_items([ITEMS[0], ITEMS[7], ITEMS[11], ITEMS[4]])  # type: ignore[list-item]
    events = await session.conversation.events()
    assert [event.kind for event in events] == [
        "user_message_sent",
        "tool_use_requested",
        "tool_use_completed",
        "agent_message_sent",
    ]
    assert events[1].payload["tool_args"] == {"a": 1, "b": 2}
    assert events[2].payload["tool_name"] == "add"
    assert events[2].payload["tool_result"] == "3"


async def test_events_of_other_writers_are_items(app: App) -> None:
    session = LedgerSession("mixed", app)
    conversation = session.conversation
    await conversation.append("user_message_sent", {"content": "hi"})
    await conversation.append("thinking", {"content": "hm"})
    await conversation.append(
        "tool_use_requested", {"tool_use_id": "t", "tool_name": "add", "tool_args": {"a": 1}}
    )
    answer = {
        "tool_use_id": "t",
        "tool_name": "add",
        "tool_result": [1],
        "success": True,
        "error_message": None,
    }
    await conversation.append("tool_use_completed", answer)
    await conversation.append("turn_paused", {"reason": "lunch"})
    assert await session.get_items() == [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "t", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "t", "output": "[1]"},
    ]
    assert await session.get_items(2) == (await session.get_items())[1:]


async def test_pop_erases_the_latest_item(app: App) -> None:
    session = LedgerSession("popped", app)
    await session.add_items(ITEMS[:3])  # type: ignore[arg-type]
    assert await session.pop_item() == ITEMS[2]
    assert await items_of(session) == ITEMS[:2]
    events = await session.conversation.events()
    assert events[2].payload is None
    assert events[3].kind == "body.erased"
    assert events[3].payload["seq"] == 2
    await session.add_items([ITEMS[4]])  # type: ignore[list-item]
    assert [await session.pop_item() for _ in range(4)] == [ITEMS[4], ITEMS[1], ITEMS[0], None]


async def test_concurrent_pops_return_different_items(app: App) -> None:
    session, other = LedgerSession("raced", app), LedgerSession("raced", app)
    await session.add_items([{"role": "user", "content": str(n)} for n in range(8)])
    popped = await asyncio.gather(*(each.pop_item() for each in [session, other] * 5))
    texts = sorted(json.loads(json.dumps(item))["content"] for item in popped if item)
    assert texts == [str(n) for n in range(8)]
    assert popped.count(None) == 2


async def test_clear_erases_every_item(app: App) -> None:
    session = LedgerSession("cleared", app)
    await session.add_items(ITEMS)  # type: ignore[arg-type]
    await session.clear_session()
    assert await items_of(session) == []
    assert await session.pop_item() is None
    await session.add_items([ITEMS[0]])  # type: ignore[list-item]
    assert await items_of(session) == [ITEMS[0]]
    events = await session.conversation.events()
    assert [event.kind for event in events].count("body.erased") == len(ITEMS)


async def test_batches_of_two_runs_never_mix(app: App) -> None:
    first, second = LedgerSession("shared", app), LedgerSession("shared", app)

    async def write(session: LedgerSession, name: str) -> None:
        for n in range(12):
            await session.add_items([{"role": "user", "content": f"{name} {n} {k}"} for k in range(3)])

    await asyncio.gather(write(first, "a"), write(second, "b"))
    texts = [item["content"] for item in await items_of(first)]
    assert len(texts) == 72
    for name in "ab":
        assert [text for text in texts if text[0] == name] == [
            f"{name} {n} {k}" for n in range(12) for k in range(3)
        ]
    assert all(texts[n].rsplit(" ", 1)[0] == texts[n + 2].rsplit(" ", 1)[0] for n in range(0, 72, 3))


class Scripted(Model):
    """A model that requests two tools at once, then answers with their results."""

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **more: Any,
    ) -> ModelResponse:
        outputs = [item["output"] for item in input if item.get("type") == "function_call_output"]
        questions = sum(item.get("role") == "user" for item in input)
        if len(outputs) < 2 * questions:
            calls = [self._call(f"c{questions}{n}", {"a": questions, "b": n}) for n in range(2)]
            return ModelResponse(output=list(calls), usage=Usage(), response_id=None)
        return ModelResponse(output=[self._text(" ".join(outputs))], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    def _call(self, call_id: str, args: dict[str, int]) -> ResponseFunctionToolCall:
        return ResponseFunctionToolCall(
            type="function_call", call_id=call_id, name="add", arguments=json.dumps(args), id=f"f{call_id}"
        )

    def _text(self, text: str) -> ResponseOutputMessage:
        part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
        return ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[part]
        )


@function_tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def test_a_real_run_uses_the_session(app: App) -> None:
    agent = Agent(name="adder", model=Scripted(), tools=[add])
    quiet = RunConfig(tracing_disabled=True)
    first = await Runner.run(agent, "one", session=LedgerSession("run", app), run_config=quiet)
    assert first.final_output == "1 2"
    again = await Runner.run(agent, "two", session=LedgerSession("run", app), run_config=quiet)
    assert again.final_output == "1 2 2 3"
    kinds = [event.kind for event in await LedgerSession("run", app).conversation.events()]
    turn = [
        "user_message_sent",
        *["tool_use_requested"] * 2,
        *["tool_use_completed"] * 2,
        "agent_message_sent",
    ]
    assert kinds == turn * 2


PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["type", "role", "content", "call_id", "name", "arguments", "output", "summary", "id", "x"]
TYPES = ["message", "function_call", "function_call_output", "reasoning", "mcp_call"]
ANY_ITEM = st.dictionaries(st.sampled_from(NAMES), PARTS, max_size=6).flatmap(
    lambda item: st.sampled_from(TYPES).map(lambda kind: {**item, "type": kind}) | st.just(item)
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANY_ITEM)
def test_any_item_is_returned_unchanged(item: dict[str, Any]) -> None:
    kind, payload = event_of(item, {})
    try:
        stored = json.loads(canonical(payload))
    except Exception:
        kind, payload = opaque_event(item)
        stored = json.loads(canonical(payload))
    assert kind in KINDS
    assert item_of(kind, stored) == item
