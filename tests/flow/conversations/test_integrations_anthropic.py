"""Recording an Anthropic stream: transient chunks, persisted blocks, and messages for the next request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from anthropic.types import (
    InputJSONDelta,
    Message,
    MessageDeltaUsage,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
    TextBlock,
    TextDelta,
    ToolUseBlock,
    Usage,
)
from anthropic.types.raw_message_delta_event import Delta

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event, Reset, Transient
from foja.errors import SlotVoided, StreamBroken
from foja.integrations import anthropic
from foja.integrations.anthropic import messages, record
from foja.pure.models.conversations.view import ConversationView

StreamEvent = dict[str, Any]


def start(name: str = "msg_1") -> StreamEvent:
    usage = {"input_tokens": 12, "output_tokens": 1}
    message = {"id": name, "type": "message", "role": "assistant", "model": "model-x", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage, "stop_reason": None}}


def opened(index: int, **block: Any) -> StreamEvent:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **more: Any) -> StreamEvent:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **more}}


def closed(index: int) -> StreamEvent:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str) -> list[StreamEvent]:
    outcome = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 40}}
    return [{"type": "message_delta", **outcome}, {"type": "message_stop"}]


def text(index: int, *pieces: str) -> list[StreamEvent]:
    grown = [delta(index, "text", text=piece) for piece in pieces]
    return [opened(index, type="text", text=""), *grown, closed(index)]


def thought(index: int, *pieces: str) -> list[StreamEvent]:
    grown = [delta(index, "thinking", thinking=piece) for piece in pieces]
    signed = delta(index, "signature", signature="c2lnbmVk")
    return [opened(index, type="thinking", thinking="", signature=""), *grown, signed, closed(index)]


def tool(index: int, name: str, *pieces: str) -> list[StreamEvent]:
    block = opened(index, type="tool_use", id=f"toolu_{index}", name=name, input={})
    return [block, *(delta(index, "input_json", partial_json=piece) for piece in pieces), closed(index)]


def two_tools() -> list[StreamEvent]:
    """Thinking, a text and two tool uses whose blocks interleave."""
    first, second = tool(2, "weather", '{"ci', 'ty":"Lima"}'), tool(3, "clock", "")
    mixed = [first[0], second[0], first[1], second[1], first[2], first[3], second[2]]
    ping: StreamEvent = {"type": "ping"}
    blocks = [*thought(0, "I need", " two things."), ping, *text(1, "Let me ", "look.")]
    return [start(), *blocks, *mixed, *ending("tool_use")]


async def play(events: Iterable[Any], error: Exception | None = None) -> AsyncIterator[Any]:
    for event in events:
        await asyncio.sleep(0)
        yield event
    if error:
        raise error


class Follower:
    """Follows a conversation in the background."""

    def __init__(self, conversation: Conversation) -> None:
        self.items: list[Event | Transient | Reset] = []
        self._conversation = conversation

    async def __aenter__(self) -> Follower:
        self._task = asyncio.create_task(self._follow())
        await self._conversation.append("user_message_sent", {"content": "hello"})
        await self.until(lambda: len(self.items) > 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def until(self, done: Any) -> None:
        async with asyncio.timeout(30):
            while not done():
                await asyncio.sleep(0.01)

    def of(self, kind: str) -> list[Any]:
        return [item for item in self.items if item.kind == kind]

    async def _follow(self) -> None:
        async for item in self._conversation.follow():
            self.items.append(item)


async def kinds(conversation: Conversation) -> list[str]:
    return [event.kind for event in await conversation.events()]


async def test_a_message_becomes_chunks_and_blocks(app: App) -> None:
    conversation = await app.conversations.open()
    async with Follower(conversation) as follower:
        recorded = await record(conversation, play(two_tools()), turn="t1")
        await follower.until(lambda: follower.of("complete"))
        chunks = follower.of("message_chunk")
        assert [(c.payload["text"], c.turn, c.block_index, c.event_index) for c in chunks] == [
            ("Let me ", "t1", 1, 0),
            ("look.", "t1", 1, 1),
        ]
        assert [c.payload["text"] for c in follower.of("thinking_chunk")] == ["I need", " two things."]
        assert follower.of("complete")[0].payload["stop_reason"] == "tool_use"
    _, thinking, text_event, first, second, *slots = await conversation.events()
    assert thinking.payload["content"] == "I need two things."
    assert text_event.payload["content"] == "Let me look."
    assert text_event.payload["model"] == "model-x"
    assert [first.payload["tool_args"], second.payload["tool_args"]] == [{"city": "Lima"}, {}]
    assert [event.payload["block_index"] for event in (thinking, text_event, first, second)] == [0, 1, 2, 3]
    assert [slot.payload["intent"]["tool_use_id"] for slot in slots] == ["toolu_2", "toolu_3"]
    assert recorded.stop_reason == "tool_use"
    assert recorded.usage == {"input_tokens": 12, "output_tokens": 40}


async def test_results_fill_the_slots_of_their_requests(app: App) -> None:
    conversation = await app.conversations.open()
    recorded = await record(conversation, two_tools(), turn="t1")
    await recorded.complete("toolu_3", {"time": "noon"})
    await recorded.complete("toolu_2", "rain")
    results = [
        e.payload["tool_result"] for e in await conversation.events() if e.kind == "tool_use_completed"
    ]
    assert results == ["rain", {"time": "noon"}]
    with pytest.raises(StreamBroken, match="no slot is reserved"):
        await recorded.complete("toolu_9", "?")


async def test_a_failed_and_a_denied_tool_are_recorded(app: App) -> None:
    conversation = await app.conversations.open()
    recorded = await record(conversation, two_tools(), turn="t1")
    await recorded.fail("toolu_2", "no such city")
    await recorded.deny("toolu_3", "not now")
    failed, denied = (await conversation.events())[-2:]
    assert (failed.payload["success"], failed.payload["error_message"]) == (False, "no such city")
    assert (denied.kind, denied.payload["reason"]) == ("slot.voided", "not now")
    with pytest.raises(SlotVoided):
        await recorded.complete("toolu_3", "late")
    last = messages(await conversation.events())[-1]["content"]
    assert [(each["content"], each["is_error"]) for each in last] == [
        ("no such city", True),
        ("no result: the tool was denied, was interrupted, or is still running", True),
    ]


async def test_the_last_block_has_the_stop_reason(app: App) -> None:
    conversation = await app.conversations.open()
    await record(conversation, [start(), *text(0, "a"), *text(1, "b"), *ending("end_turn")], turn=1)
    first, last = await conversation.events()
    assert "stop_reason" not in first.payload
    assert (last.payload["stop_reason"], last.payload["tokens"]) == ("end_turn", {"output_tokens": 40})


@pytest.mark.parametrize(
    ("reason", "kind", "recorded"),
    [("refusal", "content_refused", "refusal"), ("pause_turn", "turn_paused", "pause_turn")],
)
async def test_refused_and_paused(app: App, reason: str, kind: str, recorded: str) -> None:
    conversation = await app.conversations.open()
    await record(conversation, [start(), *text(0, "I"), *ending(reason)], turn="t")
    assert await kinds(conversation) == ["agent_message_sent", kind]
    assert (await conversation.events())[-1].payload == {"reason": recorded, "turn": "t"}


async def test_the_same_stream_again_writes_nothing_new(app: App) -> None:
    conversation = await app.conversations.open()
    for _ in range(2):
        await record(conversation, two_tools(), turn="t1", ttl=None)
    assert len(await conversation.events()) == 4


@pytest.mark.parametrize("how", ["ends", "raises", "reports an error"])
async def test_a_stream_cut_at_any_point_is_recorded_as_paused(app: App, how: str) -> None:
    whole = two_tools()
    stops = [n for n, event in enumerate(whole) if event["type"] == "content_block_stop"]
    for cut in range(len(whole)):
        conversation = await app.conversations.open()
        broken: StreamEvent = {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}
        events = [*whole[:cut], broken] if how == "reports an error" else whole[:cut]
        error = ConnectionError("the line broke") if how == "raises" else None
        with pytest.raises(ConnectionError if how == "raises" else StreamBroken):
            await record(conversation, play(events, error), turn="t1")
        *blocks, paused = await conversation.events()
        assert len(blocks) == sum(stop < cut for stop in stops)
        assert paused.kind == "turn_paused"
        assert paused.payload["reason"].startswith("the stream broke: ")
        assert ConversationView(await conversation.events()).settled


async def test_followers_get_the_error_of_a_broken_stream(app: App) -> None:
    conversation = await app.conversations.open()
    async with Follower(conversation) as follower:
        with pytest.raises(ConnectionError):
            await record(conversation, play(two_tools()[:8], ConnectionError("the line broke")), turn="t1")
        await follower.until(lambda: follower.of("turn_paused") and follower.of("error"))
        assert follower.of("error")[0].payload == {"message": "the line broke"}


async def test_a_cancelled_recording_is_recorded_as_paused(app: App) -> None:
    async def stuck() -> AsyncIterator[StreamEvent]:
        for event in two_tools()[:8]:
            yield event
        await asyncio.Event().wait()

    conversation = await app.conversations.open()
    task = asyncio.create_task(record(conversation, stuck(), turn="t1"))
    async with asyncio.timeout(30):
        while not await conversation.events():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await conversation.events())[-1].payload["reason"] == "the stream broke: it was cancelled"


async def test_a_block_does_not_wait_for_a_slow_stream(app: App) -> None:
    conversation = await app.conversations.open()
    go_on = asyncio.Event()

    async def slow() -> AsyncIterator[StreamEvent]:
        for event in [start(), *text(0, "a")]:
            yield event
        await go_on.wait()
        for event in [*text(1, "b"), *ending("end_turn")]:
            yield event

    task = asyncio.create_task(record(conversation, slow(), turn="t"))
    async with asyncio.timeout(30):
        while not await conversation.events():
            await asyncio.sleep(0.01)
    go_on.set()
    await task
    assert await kinds(conversation) == ["agent_message_sent"] * 2


async def test_tool_input_that_is_not_json_breaks_the_stream(app: App) -> None:
    conversation = await app.conversations.open()
    with pytest.raises(StreamBroken, match="block 0 cannot be read"):
        await record(conversation, [start(), *tool(0, "x", '{"a":'), *ending("tool_use")], turn="t")
    assert await kinds(conversation) == ["turn_paused"]


async def test_the_objects_of_the_package_are_accepted(app: App) -> None:
    message = Message(
        id="m",
        type="message",
        role="assistant",
        model="model-x",
        content=[],
        usage=Usage(input_tokens=1, output_tokens=1),
    )
    use = ToolUseBlock(type="tool_use", id="toolu_1", name="clock", input={})
    stream = [
        RawMessageStartEvent(type="message_start", message=message),
        RawContentBlockStartEvent(
            type="content_block_start", index=0, content_block=TextBlock(type="text", text="")
        ),
        RawContentBlockDeltaEvent(
            type="content_block_delta", index=0, delta=TextDelta(type="text_delta", text="hi")
        ),
        RawContentBlockStopEvent(type="content_block_stop", index=0),
        RawContentBlockStartEvent(type="content_block_start", index=1, content_block=use),
        RawContentBlockDeltaEvent(
            type="content_block_delta",
            index=1,
            delta=InputJSONDelta(type="input_json_delta", partial_json='{"a":1}'),
        ),
        RawContentBlockStopEvent(type="content_block_stop", index=1),
        RawMessageDeltaEvent(
            type="message_delta",
            delta=Delta(stop_reason="tool_use"),
            usage=MessageDeltaUsage(output_tokens=2),
        ),
        RawMessageStopEvent(type="message_stop"),
    ]
    conversation = await app.conversations.open()
    recorded = await record(conversation, play(stream), turn="t")
    assert recorded.tools == [anthropic.Tool("toolu_1", "clock", {"a": 1})]
    assert (await conversation.events())[0].payload["content"] == "hi"


async def test_messages_for_the_next_request(app: App) -> None:
    conversation = await app.conversations.open()
    await conversation.append("user_message_sent", {"content": "what now?"})
    recorded = await record(conversation, two_tools(), turn="t1")
    await recorded.complete("toolu_3", {"time": "noon"})
    await recorded.complete("toolu_2", "rain")
    await record(conversation, [start("msg_2"), *tool(0, "clock"), *ending("tool_use")], turn="t2", ttl=None)
    await conversation.append("user_message_sent", {"content": "never mind"})
    await record(
        conversation, [start("msg_3"), *text(0, "Rain", " at noon."), *ending("end_turn")], turn="t3"
    )
    first, second = (
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Lima"}},
        {"type": "tool_use", "id": "toolu_3", "name": "clock", "input": {}},
    )
    assert messages(await conversation.events()) == [
        {"role": "user", "content": [{"type": "text", "text": "what now?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I need two things.", "signature": "c2lnbmVk"},
                {"type": "text", "text": "Let me look."},
                first,
                second,
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "rain"},
                {"type": "tool_result", "tool_use_id": "toolu_3", "content": '{"time": "noon"}'},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_0", "name": "clock", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_0",
                    "content": "no result: the tool was denied, was interrupted, or is still running",
                    "is_error": True,
                },
                {"type": "text", "text": "never mind"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Rain at noon."}]},
    ]


async def test_blocks_of_a_server_come_back_as_they_were(app: App) -> None:
    search: StreamEvent = {
        "type": "server_tool_use",
        "id": "srv_1",
        "name": "web_search",
        "input": {"query": "rain"},
    }
    hits = [{"type": "web_search_result", "title": "Rain", "url": "https://rain.example"}]
    found: StreamEvent = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": hits}
    hidden: StreamEvent = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    cited = {"type": "char_location", "cited_text": "rain", "document_index": 0}
    stream = [
        start(),
        *(
            each
            for n, block in enumerate([hidden, search, found])
            for each in (opened(n, **block), closed(n))
        ),
        opened(3, type="text", text="", citations=None),
        delta(3, "text", text="It rains."),
        delta(3, "citations", citation=cited),
        closed(3),
        *ending("end_turn"),
    ]
    conversation = await app.conversations.open()
    recorded = await record(conversation, stream, turn="t")
    assert recorded.tools == []
    assert await kinds(conversation) == [
        "thinking",
        "tool_use_requested",
        "tool_use_completed",
        "agent_message_sent",
    ]
    text_block = {"type": "text", "text": "It rains.", "citations": [cited]}
    [message] = messages(await conversation.events())
    assert message == {"role": "assistant", "content": [hidden, search, found, text_block]}
