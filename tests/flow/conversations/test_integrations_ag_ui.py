"""AG-UI: the real client accepts every stream, cut at any point and joined again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from foja.engine.ledger.event import Event, Transient
from foja.integrations.ag_ui.encoder import Encoder
from foja.integrations.ag_ui.frames import _with_cursor, encode
from foja.integrations.ag_ui.messages import messages_of
from tests.flow.javascript.node import run_node

THREAD = UUID(int=7)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Item = Event | Transient


class Script:
    """A scripted conversation: a persisted event gets the next number."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._seqs, self._ids = count(), count(1)

    def event(self, kind: str, payload: Any, seq: int | None = None) -> None:
        number = next(self._seqs) if seq is None else seq
        cursor = f"e:{number}"
        event_id = UUID(int=next(self._ids))
        self.items.append(Event(THREAD, number, event_id, kind, 1, NOW, None, "api", payload, b"", cursor))

    def skip(self) -> int:
        return next(self._seqs)

    def chunk(self, kind: str, payload: Any, turn: str, block: int | None = None, index: int = 0) -> None:
        event_id, at = UUID(int=next(self._ids)), NOW + timedelta(milliseconds=next(self._ids))
        self.items.append(Transient(THREAD, event_id, kind, at, turn, block, index, payload))

    def stream(self, kind: str, turn: str, block: int, *texts: str) -> None:
        for index, text in enumerate(texts):
            self.chunk(kind, {"text": text}, turn, block, index)


def two_turns() -> list[Item]:
    script = Script()
    script.event("user_message_sent", {"content": "what is the weather?"})
    script.stream("thinking_chunk", "t1", 0, "hm", ", two", " places")
    script.event("thinking", {"content": "hm, two places", "turn": "t1", "block_index": 0})
    script.stream("message_chunk", "t1", 1, "I will ", "", "look", ".")
    script.event("agent_message_sent", {"content": "I will look.", "turn": "t1", "block_index": 1})
    for n in (2, 3):
        request = {"tool_use_id": f"u{n}", "tool_name": "weather", "tool_args": {"city": str(n)}}
        script.event("tool_use_requested", {**request, "turn": "t1", "block_index": n})
    first, second = script.skip(), script.skip()
    script.event("tool_use_completed", result("u3", {"celsius": 3}), seq=second)
    script.event("tool_use_completed", result("u2", "rain"), seq=first)
    script.event("approval_requested", approval("a/1", expires_at="later"))
    script.event("approval_completed", {"approval_id": "a/1", "decision": "approved", "reason": None})
    script.chunk("complete", {"stop_reason": "tool_use"}, "t1")
    script.stream("message_chunk", "t2", 0, "Rain", " and", " cold")
    ending = {"turn": "t2", "block_index": 0, "stop_reason": "end_turn"}
    script.event("agent_message_sent", {"content": "Rain and cold.", **ending})
    script.chunk("complete", {"stop_reason": "end_turn"}, "t2")
    script.event("user_message_sent", {"content": [{"type": "text", "text": "thanks"}]})
    script.stream("message_chunk", "t3", 0, "You are", " wel")
    script.chunk("error", {"message": "the line broke", "code": "broken"}, "t3")
    script.event("turn_paused", {"reason": "the stream broke"})
    return script.items


def result(tool_use_id: str, value: Any) -> dict[str, Any]:
    named = {"tool_use_id": tool_use_id, "tool_name": "weather", "tool_result": value}
    return {**named, "success": True, "error_message": None}


def approval(name: str, **more: Any) -> dict[str, Any]:
    return {"approval_id": name, "tool_name": "weather", "tool_args": {}, **more}


def persisted(items: Iterable[Item]) -> list[Event]:
    found = [item for item in items if isinstance(item, Event)]
    return sorted(found, key=lambda event: event.seq)


def connection(items: Sequence[Item], start: int, end: int | None = None) -> list[str]:
    """Return the frames of a client that joins before one item and leaves before another."""
    encoder = Encoder(THREAD)
    output = _with_cursor(encoder.join(persisted(items[:start])), None)
    for item in items[start:end]:
        output += _with_cursor(encoder.encode(item), item.cursor)
    return [encode(frame).decode() for frame in output]


def expected_messages(items: Sequence[Item]) -> Any:
    messages = messages_of(persisted(items))
    return [message.model_dump(by_alias=True, exclude_none=True, mode="json") for message in messages]


def same(found: Any, wanted: Any) -> bool:
    """Return whether two lists of messages are equal; an empty text counts as absent."""

    def plain(messages: Any) -> Any:
        return [{k: v for k, v in message.items() if v not in ("", None)} for message in messages]

    return bool(plain(found) == plain(wanted))


def test_a_client_that_joins_at_any_point_gets_the_same_messages() -> None:
    items = two_turns()
    chains = [["".join(connection(items, start))] for start in range(len(items) + 1)]
    for start, found in enumerate(run_node("check.mjs", chains)):
        assert "error" not in found, (start, found)
        assert same(found["messages"], expected_messages(items)), (start, found["messages"])
        assert found["state"]["approvals"] == {"a/1": "approved"}


def test_a_stream_cut_at_any_frame_and_joined_again_loses_nothing() -> None:
    items = two_turns()
    frames = connection(items, 0)
    counts = [len(connection(items, 0, end)) for end in range(len(items) + 1)]
    chains = []
    for cut in range(1, len(frames) + 1):
        # The server has the items up to here; the others follow.
        reached = max(end for end, shown in enumerate(counts) if shown <= max(cut, counts[0]))
        chains.append(["".join(frames[:cut]), "".join(connection(items, reached))])
    for cut, found in enumerate(run_node("check.mjs", chains), 1):
        assert "error" not in found, (cut, found)
        assert same(found["messages"], expected_messages(items)), (cut, found["messages"])


def test_many_cuts() -> None:
    items = two_turns()
    steps = [(n, n + 3) for n in range(0, len(items), 2)]
    chain = ["".join(connection(items, start, end)) for start, end in steps]
    [found] = run_node("check.mjs", [[*chain, "".join(connection(items, len(items)))]])
    assert "error" not in found, found
    assert same(found["messages"], expected_messages(items))


def test_only_the_last_frame_of_an_event_has_a_cursor() -> None:
    items = two_turns()
    encoder = Encoder(THREAD)
    encoder.join([])
    for item in items:
        output = _with_cursor(encoder.encode(item), item.cursor)
        ids = [frame.id for frame in output]
        assert ids[:-1] == [None] * len(ids[:-1])
        assert not output or ids[-1] == item.cursor
        for frame in output:
            assert encode(frame).startswith(b"id: e:" if frame.id else b"data: ")


def test_the_check_detects_invalid_streams() -> None:
    frames = connection(two_turns(), 0)
    headless = "".join(frames[1:])
    open_message = next(frame for frame in frames if "TEXT_MESSAGE_START" in frame)
    unclosed = [frame for frame in frames if "TEXT_MESSAGE_END" not in frame]
    found = run_node(
        "check.mjs", [[headless], ["".join([frames[0], open_message, open_message])], ["".join(unclosed)]]
    )
    assert all("error" in each for each in found)


def test_the_persisted_text_corrects_missed_chunks() -> None:
    script = Script()
    script.event("user_message_sent", {"content": "hi"})
    script.stream("message_chunk", "t", 0, "a", "b", "c")
    script.event("agent_message_sent", {"content": "abc", "turn": "t", "block_index": 0})
    script.chunk("message_chunk", {"text": "late"}, "t", 0, 3)
    chains = [["".join(connection(script.items, start))] for start in range(6)]
    for found in run_node("check.mjs", chains):
        assert [message["content"] for message in found["messages"]] == ["hi", "abc"]


def test_events_out_of_order_are_reordered() -> None:
    script = Script()
    script.event("user_message_sent", {"content": "hi"})
    script.stream("message_chunk", "t", 1, "second")  # before the persisted event below it
    script.stream("thinking_chunk", "t", 5, "hm")
    script.event("agent_message_sent", {"content": "first", "turn": "t", "block_index": 0})
    request = {"tool_use_id": "u", "tool_name": "x", "tool_args": {}}
    script.event("tool_use_requested", {**request, "turn": "t", "block_index": 2})
    script.event("tool_use_completed", result("u", "done"))
    script.event("thinking", {"content": "so", "turn": "t", "block_index": 4})
    script.event("thinking", {"content": "hm", "turn": "t", "block_index": 5})
    late = script.skip()
    script.event("agent_message_sent", {"content": "second", "turn": "t", "block_index": 1})
    script.event("agent_message_sent", {"content": "between", "turn": "t", "block_index": 9}, seq=late)
    chains = [["".join(connection(script.items, start))] for start in range(len(script.items) + 1)]
    for start, found in enumerate(run_node("check.mjs", chains)):
        assert "error" not in found, (start, found)
        assert same(found["messages"], expected_messages(script.items)), (start, found["messages"])


def test_a_client_with_a_correct_prefix_gets_one_snapshot() -> None:
    items = two_turns()
    names = [message["id"] for message in expected_messages(items)]
    for shown, snapshots in [(names[:3], 1), ([], 1), ([names[1], names[0]], 2), ([names[0], names[2]], 2)]:
        output = Encoder(THREAD).join(persisted(items), shown)
        assert [frame.type.value for frame in output].count("MESSAGES_SNAPSHOT") == snapshots


def test_an_erased_message_is_removed() -> None:
    script = Script()
    script.event("user_message_sent", {"content": "my password is x"})
    script.event("agent_message_sent", {"content": "noted", "stop_reason": "end_turn"})
    script.event("body.erased", {"seq": 0, "reason": "a secret"})
    [found] = run_node("check.mjs", [["".join(connection(script.items, 0))]])
    assert [message["content"] for message in found["messages"]] == ["noted"]


def test_an_idle_conversation_is_a_finished_run() -> None:
    items = two_turns()
    for end, running in [(1, True), (len(items), False)]:
        encoder = Encoder(THREAD)
        encoder.join(persisted(items[:end]))
        assert encoder.running is running
    output = [json.loads(frame.split("data: ")[1]) for frame in connection([], 0)]
    assert [frame["type"] for frame in output] == [
        "RUN_STARTED",
        *["MESSAGES_SNAPSHOT"] * 2,
        "STATE_SNAPSHOT",
    ]
