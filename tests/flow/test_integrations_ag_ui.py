"""AG-UI on our ledger: the real client accepts every stream, cut anywhere and joined again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from foja.integrations.ag_ui.encoder import Encoder
from foja.integrations.ag_ui.frames import _under, encode
from foja.integrations.ag_ui.messages import messages_of
from foja.ledger.event import Event, Transient
from tests.flow.node import run_node

THREAD = UUID(int=7)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Item = Event | Transient


class Script:
    """A conversation written by hand: what is persisted gets the next number."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._seqs, self._ids = count(), count(1)

    def say(self, kind: str, payload: Any, seq: int | None = None) -> None:
        number = next(self._seqs) if seq is None else seq
        cursor = f"e:{number}"
        named = UUID(int=next(self._ids))
        self.items.append(Event(THREAD, number, named, kind, 1, NOW, None, "api", payload, b"", cursor))

    def skip(self) -> int:
        return next(self._seqs)

    def chunk(self, kind: str, payload: Any, turn: str, block: int | None = None, index: int = 0) -> None:
        named, at = UUID(int=next(self._ids)), NOW + timedelta(milliseconds=next(self._ids))
        self.items.append(Transient(THREAD, named, kind, at, turn, block, index, payload))

    def stream(self, kind: str, turn: str, block: int, *texts: str) -> None:
        for index, text in enumerate(texts):
            self.chunk(kind, {"text": text}, turn, block, index)


def two_turns() -> list[Item]:
    script = Script()
    script.say("user_message_sent", {"content": "what is the weather?"})
    script.stream("thinking_chunk", "t1", 0, "hm", ", two", " places")
    script.say("thinking", {"content": "hm, two places", "turn": "t1", "block_index": 0})
    script.stream("message_chunk", "t1", 1, "I will ", "", "look", ".")
    script.say("agent_message_sent", {"content": "I will look.", "turn": "t1", "block_index": 1})
    for n in (2, 3):
        asked = {"tool_use_id": f"u{n}", "tool_name": "weather", "tool_args": {"city": str(n)}}
        script.say("tool_use_requested", {**asked, "turn": "t1", "block_index": n})
    first, second = script.skip(), script.skip()
    script.say("tool_use_completed", result("u3", {"celsius": 3}), seq=second)
    script.say("tool_use_completed", result("u2", "rain"), seq=first)
    script.say("approval_requested", approval("a/1", expires_at="later"))
    script.say("approval_completed", {"approval_id": "a/1", "decision": "approved", "reason": None})
    script.chunk("complete", {"stop_reason": "tool_use"}, "t1")
    script.stream("message_chunk", "t2", 0, "Rain", " and", " cold")
    ending = {"turn": "t2", "block_index": 0, "stop_reason": "end_turn"}
    script.say("agent_message_sent", {"content": "Rain and cold.", **ending})
    script.chunk("complete", {"stop_reason": "end_turn"}, "t2")
    script.say("user_message_sent", {"content": [{"type": "text", "text": "thanks"}]})
    script.stream("message_chunk", "t3", 0, "You are", " wel")
    script.chunk("error", {"message": "the line broke", "code": "broken"}, "t3")
    script.say("turn_paused", {"reason": "the stream broke"})
    return script.items


def result(asked: str, told: Any) -> dict[str, Any]:
    named = {"tool_use_id": asked, "tool_name": "weather", "tool_result": told}
    return {**named, "success": True, "error_message": None}


def approval(name: str, **more: Any) -> dict[str, Any]:
    return {"approval_id": name, "tool_name": "weather", "tool_args": {}, **more}


def persisted(items: Iterable[Item]) -> list[Event]:
    found = [item for item in items if isinstance(item, Event)]
    return sorted(found, key=lambda event: event.seq)


def connection(items: Sequence[Item], start: int, end: int | None = None) -> list[str]:
    """Return the frames of a client that joins before one item and goes before another."""
    telling = Encoder(THREAD)
    told = _under(telling.join(persisted(items[:start])), None)
    for item in items[start:end]:
        told += _under(telling.take(item), item.cursor)
    return [encode(frame).decode() for frame in told]


def told_by_hand(items: Sequence[Item]) -> Any:
    messages = messages_of(persisted(items))
    return [message.model_dump(by_alias=True, exclude_none=True, mode="json") for message in messages]


def same(found: Any, wanted: Any) -> bool:
    """Say whether two lists of messages say the same; an empty text is as good as none."""

    def plain(messages: Any) -> Any:
        return [{k: v for k, v in message.items() if v not in ("", None)} for message in messages]

    return bool(plain(found) == plain(wanted))


def test_who_joins_anywhere_ends_with_the_same_messages() -> None:
    items = two_turns()
    chains = [["".join(connection(items, start))] for start in range(len(items) + 1)]
    for start, found in enumerate(run_node("check.mjs", chains)):
        assert "error" not in found, (start, found)
        assert same(found["messages"], told_by_hand(items)), (start, found["messages"])
        assert found["state"]["approvals"] == {"a/1": "approved"}


def test_a_stream_cut_at_any_frame_and_joined_again_loses_nothing() -> None:
    items = two_turns()
    frames = connection(items, 0)
    counts = [len(connection(items, 0, end)) for end in range(len(items) + 1)]
    chains = []
    for cut in range(1, len(frames) + 1):
        # What was persisted by then is known to the server; the rest is still to come.
        reached = max(end for end, shown in enumerate(counts) if shown <= max(cut, counts[0]))
        chains.append(["".join(frames[:cut]), "".join(connection(items, reached))])
    for cut, found in enumerate(run_node("check.mjs", chains), 1):
        assert "error" not in found, (cut, found)
        assert same(found["messages"], told_by_hand(items)), (cut, found["messages"])


def test_cut_again_and_again() -> None:
    items = two_turns()
    steps = [(n, n + 3) for n in range(0, len(items), 2)]
    chain = ["".join(connection(items, start, end)) for start, end in steps]
    [found] = run_node("check.mjs", [[*chain, "".join(connection(items, len(items)))]])
    assert "error" not in found, found
    assert same(found["messages"], told_by_hand(items))


def test_only_the_last_frame_of_an_event_can_be_resumed_from() -> None:
    items = two_turns()
    telling = Encoder(THREAD)
    telling.join([])
    for item in items:
        told = _under(telling.take(item), item.cursor)
        ids = [frame.id for frame in told]
        assert ids[:-1] == [None] * len(ids[:-1])
        assert not told or ids[-1] == item.cursor
        for frame in told:
            assert encode(frame).startswith(b"id: e:" if frame.id else b"data: ")


def test_what_the_client_would_refuse_is_refused_by_the_check() -> None:
    frames = connection(two_turns(), 0)
    headless = "".join(frames[1:])
    open_message = next(frame for frame in frames if "TEXT_MESSAGE_START" in frame)
    unclosed = [frame for frame in frames if "TEXT_MESSAGE_END" not in frame]
    found = run_node(
        "check.mjs", [[headless], ["".join([frames[0], open_message, open_message])], ["".join(unclosed)]]
    )
    assert all("error" in each for each in found)


def test_missed_chunks_are_put_right_by_the_persisted_text() -> None:
    script = Script()
    script.say("user_message_sent", {"content": "hi"})
    script.stream("message_chunk", "t", 0, "a", "b", "c")
    script.say("agent_message_sent", {"content": "abc", "turn": "t", "block_index": 0})
    script.chunk("message_chunk", {"text": "late"}, "t", 0, 3)
    chains = [["".join(connection(script.items, start))] for start in range(6)]
    for found in run_node("check.mjs", chains):
        assert [message["content"] for message in found["messages"]] == ["hi", "abc"]


def test_what_overtakes_is_put_in_order_again() -> None:
    script = Script()
    script.say("user_message_sent", {"content": "hi"})
    script.stream("message_chunk", "t", 1, "second")  # in passing is faster than written
    script.stream("thinking_chunk", "t", 5, "hm")
    script.say("agent_message_sent", {"content": "first", "turn": "t", "block_index": 0})
    asked = {"tool_use_id": "u", "tool_name": "x", "tool_args": {}}
    script.say("tool_use_requested", {**asked, "turn": "t", "block_index": 2})
    script.say("tool_use_completed", result("u", "done"))
    script.say("thinking", {"content": "so", "turn": "t", "block_index": 4})
    script.say("thinking", {"content": "hm", "turn": "t", "block_index": 5})
    late = script.skip()
    script.say("agent_message_sent", {"content": "second", "turn": "t", "block_index": 1})
    script.say("agent_message_sent", {"content": "between", "turn": "t", "block_index": 9}, seq=late)
    chains = [["".join(connection(script.items, start))] for start in range(len(script.items) + 1)]
    for start, found in enumerate(run_node("check.mjs", chains)):
        assert "error" not in found, (start, found)
        assert same(found["messages"], told_by_hand(script.items)), (start, found["messages"])


def test_a_client_that_has_the_beginning_is_not_told_to_forget() -> None:
    items = two_turns()
    names = [message["id"] for message in told_by_hand(items)]
    for shown, snapshots in [(names[:3], 1), ([], 1), ([names[1], names[0]], 2), ([names[0], names[2]], 2)]:
        told = Encoder(THREAD).join(persisted(items), shown)
        assert [frame.type.value for frame in told].count("MESSAGES_SNAPSHOT") == snapshots


def test_an_erased_message_goes_away() -> None:
    script = Script()
    script.say("user_message_sent", {"content": "my password is x"})
    script.say("agent_message_sent", {"content": "noted", "stop_reason": "end_turn"})
    script.say("body.erased", {"seq": 0, "reason": "a secret"})
    [found] = run_node("check.mjs", [["".join(connection(script.items, 0))]])
    assert [message["content"] for message in found["messages"]] == ["noted"]


def test_a_conversation_at_rest_is_a_finished_run() -> None:
    items = two_turns()
    for end, running in [(1, True), (len(items), False)]:
        telling = Encoder(THREAD)
        telling.join(persisted(items[:end]))
        assert telling.running is running
    told = [json.loads(frame.split("data: ")[1]) for frame in connection([], 0)]
    assert [frame["type"] for frame in told] == ["RUN_STARTED", *["MESSAGES_SNAPSHOT"] * 2, "STATE_SNAPSHOT"]
