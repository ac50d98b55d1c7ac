"""An Anthropic message stream in our ledger: chunks while it comes, blocks that stay, and the way back."""

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
from foja.conversations.model.view import ConversationView
from foja.conversations.service import Conversation
from foja.errors import SlotVoided, StreamBroken
from foja.integrations import anthropic
from foja.integrations.anthropic import messages, record
from foja.ledger.event import Event, Reset, Transient

Said = dict[str, Any]


def start(name: str = "msg_1") -> Said:
    usage = {"input_tokens": 12, "output_tokens": 1}
    message = {"id": name, "type": "message", "role": "assistant", "model": "model-x", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage, "stop_reason": None}}


def opened(index: int, **block: Any) -> Said:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **more: Any) -> Said:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **more}}


def closed(index: int) -> Said:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str) -> list[Said]:
    told = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 40}}
    return [{"type": "message_delta", **told}, {"type": "message_stop"}]


def text(index: int, *pieces: str) -> list[Said]:
    grown = [delta(index, "text", text=piece) for piece in pieces]
    return [opened(index, type="text", text=""), *grown, closed(index)]


def thought(index: int, *pieces: str) -> list[Said]:
    grown = [delta(index, "thinking", thinking=piece) for piece in pieces]
    signed = delta(index, "signature", signature="c2lnbmVk")
    return [opened(index, type="thinking", thinking="", signature=""), *grown, signed, closed(index)]


def tool(index: int, name: str, *pieces: str) -> list[Said]:
    block = opened(index, type="tool_use", id=f"toolu_{index}", name=name, input={})
    return [block, *(delta(index, "input_json", partial_json=piece) for piece in pieces), closed(index)]


def two_tools() -> list[Said]:
    """A thought, a text, and two tools at once whose blocks come in between each other."""
    first, second = tool(2, "weather", '{"ci', 'ty":"Lima"}'), tool(3, "clock", "")
    mixed = [first[0], second[0], first[1], second[1], first[2], first[3], second[2]]
    ping: Said = {"type": "ping"}
    said = [*thought(0, "I need", " two things."), ping, *text(1, "Let me ", "look.")]
    return [start(), *said, *mixed, *ending("tool_use")]


async def play(events: Iterable[Any], error: Exception | None = None) -> AsyncIterator[Any]:
    for event in events:
        await asyncio.sleep(0)
        yield event
    if error:
        raise error


class Listening:
    """Somebody who follows a conversation while it happens."""

    def __init__(self, talk: Conversation) -> None:
        self.items: list[Event | Transient | Reset] = []
        self._talk = talk

    async def __aenter__(self) -> Listening:
        self._task = asyncio.create_task(self._listen())
        await self._talk.append("user_message_sent", {"content": "hello"})
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

    async def _listen(self) -> None:
        async for item in self._talk.follow():
            self.items.append(item)


async def kinds(talk: Conversation) -> list[str]:
    return [event.kind for event in await talk.events()]


async def test_a_message_becomes_chunks_and_blocks(app: App) -> None:
    talk = await app.conversations.open()
    async with Listening(talk) as listening:
        heard = await record(talk, play(two_tools()), turn="t1")
        await listening.until(lambda: listening.of("complete"))
        chunks = listening.of("message_chunk")
        assert [(c.payload["text"], c.turn, c.block_index, c.event_index) for c in chunks] == [
            ("Let me ", "t1", 1, 0),
            ("look.", "t1", 1, 1),
        ]
        assert [c.payload["text"] for c in listening.of("thinking_chunk")] == ["I need", " two things."]
        assert listening.of("complete")[0].payload["stop_reason"] == "tool_use"
    _, thinking, said, first, second, *slots = await talk.events()
    assert thinking.payload["content"] == "I need two things."
    assert said.payload["content"] == "Let me look."
    assert said.payload["model"] == "model-x"
    assert [first.payload["tool_args"], second.payload["tool_args"]] == [{"city": "Lima"}, {}]
    assert [event.payload["block_index"] for event in (thinking, said, first, second)] == [0, 1, 2, 3]
    assert [slot.payload["intent"]["tool_use_id"] for slot in slots] == ["toolu_2", "toolu_3"]
    assert heard.stop_reason == "tool_use"
    assert heard.usage == {"input_tokens": 12, "output_tokens": 40}


async def test_results_stand_where_they_were_asked_for(app: App) -> None:
    talk = await app.conversations.open()
    heard = await record(talk, two_tools(), turn="t1")
    await heard.complete("toolu_3", {"time": "noon"})
    await heard.complete("toolu_2", "rain")
    results = [e.payload["tool_result"] for e in await talk.events() if e.kind == "tool_use_completed"]
    assert results == ["rain", {"time": "noon"}]
    with pytest.raises(StreamBroken, match="no number is kept"):
        await heard.complete("toolu_9", "?")


async def test_a_failed_and_a_denied_tool_are_explained(app: App) -> None:
    talk = await app.conversations.open()
    heard = await record(talk, two_tools(), turn="t1")
    await heard.fail("toolu_2", "no such city")
    await heard.deny("toolu_3", "not now")
    failed, denied = (await talk.events())[-2:]
    assert (failed.payload["success"], failed.payload["error_message"]) == (False, "no such city")
    assert (denied.kind, denied.payload["reason"]) == ("slot.voided", "not now")
    with pytest.raises(SlotVoided):
        await heard.complete("toolu_3", "late")
    last = messages(await talk.events())[-1]["content"]
    assert [(each["content"], each["is_error"]) for each in last] == [
        ("no such city", True),
        ("no result: the tool was denied, was interrupted, or is still running", True),
    ]


async def test_the_last_block_says_how_it_ended(app: App) -> None:
    talk = await app.conversations.open()
    await record(talk, [start(), *text(0, "a"), *text(1, "b"), *ending("end_turn")], turn=1)
    first, last = await talk.events()
    assert "stop_reason" not in first.payload
    assert (last.payload["stop_reason"], last.payload["tokens"]) == ("end_turn", {"output_tokens": 40})


@pytest.mark.parametrize(
    ("reason", "kind", "said"),
    [("refusal", "content_refused", "refusal"), ("pause_turn", "turn_paused", "pause_turn")],
)
async def test_refused_and_paused(app: App, reason: str, kind: str, said: str) -> None:
    talk = await app.conversations.open()
    await record(talk, [start(), *text(0, "I"), *ending(reason)], turn="t")
    assert await kinds(talk) == ["agent_message_sent", kind]
    assert (await talk.events())[-1].payload == {"reason": said, "turn": "t"}


async def test_the_same_stream_again_writes_nothing_new(app: App) -> None:
    talk = await app.conversations.open()
    for _ in range(2):
        await record(talk, two_tools(), turn="t1", ttl=None)
    assert len(await talk.events()) == 4


@pytest.mark.parametrize("how", ["ends", "raises", "says so"])
async def test_a_stream_cut_anywhere_leaves_an_explained_state(app: App, how: str) -> None:
    whole = two_tools()
    stops = [n for n, event in enumerate(whole) if event["type"] == "content_block_stop"]
    for cut in range(len(whole)):
        talk = await app.conversations.open()
        broken: Said = {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}
        heard = [*whole[:cut], broken] if how == "says so" else whole[:cut]
        error = ConnectionError("the line broke") if how == "raises" else None
        with pytest.raises(ConnectionError if how == "raises" else StreamBroken):
            await record(talk, play(heard, error), turn="t1")
        *blocks, paused = await talk.events()
        assert len(blocks) == sum(stop < cut for stop in stops)
        assert paused.kind == "turn_paused"
        assert paused.payload["reason"].startswith("the stream broke: ")
        assert ConversationView(await talk.events()).settled


async def test_a_break_is_shown_to_those_who_follow(app: App) -> None:
    talk = await app.conversations.open()
    async with Listening(talk) as listening:
        with pytest.raises(ConnectionError):
            await record(talk, play(two_tools()[:8], ConnectionError("the line broke")), turn="t1")
        await listening.until(lambda: listening.of("turn_paused") and listening.of("error"))
        assert listening.of("error")[0].payload == {"message": "the line broke"}


async def test_a_cancelled_recording_says_so(app: App) -> None:
    async def stuck() -> AsyncIterator[Said]:
        for event in two_tools()[:8]:
            yield event
        await asyncio.Event().wait()

    talk = await app.conversations.open()
    task = asyncio.create_task(record(talk, stuck(), turn="t1"))
    async with asyncio.timeout(30):
        while not await talk.events():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await talk.events())[-1].payload["reason"] == "the stream broke: it was cancelled"


async def test_a_block_does_not_wait_for_a_slow_stream(app: App) -> None:
    talk = await app.conversations.open()
    go_on = asyncio.Event()

    async def slow() -> AsyncIterator[Said]:
        for event in [start(), *text(0, "a")]:
            yield event
        await go_on.wait()
        for event in [*text(1, "b"), *ending("end_turn")]:
            yield event

    task = asyncio.create_task(record(talk, slow(), turn="t"))
    async with asyncio.timeout(30):
        while not await talk.events():
            await asyncio.sleep(0.01)
    go_on.set()
    await task
    assert await kinds(talk) == ["agent_message_sent"] * 2


async def test_tool_input_that_is_no_json_breaks_the_stream(app: App) -> None:
    talk = await app.conversations.open()
    with pytest.raises(StreamBroken, match="block 0 cannot be read"):
        await record(talk, [start(), *tool(0, "x", '{"a":'), *ending("tool_use")], turn="t")
    assert await kinds(talk) == ["turn_paused"]


async def test_the_objects_of_the_package_are_as_good_as_dicts(app: App) -> None:
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
    talk = await app.conversations.open()
    heard = await record(talk, play(stream), turn="t")
    assert heard.tools == [anthropic.Tool("toolu_1", "clock", {"a": 1})]
    assert (await talk.events())[0].payload["content"] == "hi"


async def test_the_way_back(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "what now?"})
    heard = await record(talk, two_tools(), turn="t1")
    await heard.complete("toolu_3", {"time": "noon"})
    await heard.complete("toolu_2", "rain")
    await record(talk, [start("msg_2"), *tool(0, "clock"), *ending("tool_use")], turn="t2", ttl=None)
    await talk.append("user_message_sent", {"content": "never mind"})
    await record(talk, [start("msg_3"), *text(0, "Rain", " at noon."), *ending("end_turn")], turn="t3")
    first, second = (
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Lima"}},
        {"type": "tool_use", "id": "toolu_3", "name": "clock", "input": {}},
    )
    assert messages(await talk.events()) == [
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
    search: Said = {
        "type": "server_tool_use",
        "id": "srv_1",
        "name": "web_search",
        "input": {"query": "rain"},
    }
    hits = [{"type": "web_search_result", "title": "Rain", "url": "https://rain.example"}]
    found: Said = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": hits}
    hidden: Said = {"type": "redacted_thinking", "data": "b3BhcXVl"}
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
    talk = await app.conversations.open()
    heard = await record(talk, stream, turn="t")
    assert heard.tools == []
    assert await kinds(talk) == ["thinking", "tool_use_requested", "tool_use_completed", "agent_message_sent"]
    text_block = {"type": "text", "text": "It rains.", "citations": [cited]}
    [said] = messages(await talk.events())
    assert said == {"role": "assistant", "content": [hidden, search, found, text_block]}
