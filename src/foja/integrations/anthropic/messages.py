"""A conversation as the `messages` of the next request to Anthropic.

Every tool that was asked for is answered in the message after it, as the API demands: what was
denied, failed, voided or never came back is answered with an error that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from foja.integrations.anthropic.blocks import Block, block_of
from foja.ledger.event import Event

Message: TypeAlias = dict[str, Any]
MODEL = frozenset({"agent_message_sent", "thinking", "tool_use_requested", "tool_use_completed"})
ANSWERS = frozenset({"tool_use_completed", "slot.voided", "slot.open"})
NO_ANSWER = "no result: the tool was denied, was interrupted, or is still running"


def messages(events: Iterable[Event]) -> list[Message]:
    """Return what was said, in turns of user and assistant."""
    said = [event for event in events if event.payload is not None]
    results = _results(said)
    turns: list[Message] = []
    for event in said:
        if event.kind == "user_message_sent":
            _settle(turns, results)
            _add(turns, "user", _blocks(event.payload["content"]))
        elif event.kind in ANSWERS and "anthropic" not in event.payload:
            _settle(turns, results)
        elif event.kind in MODEL and (block := block_of(event.kind, event.payload)):
            if block["type"] != "tool_use":
                _settle(turns, results)
            _add(turns, "assistant", [block])
    _settle(turns, results)
    return turns


def _results(said: Iterable[Event]) -> dict[str, Block]:
    """Return the first answer to each tool that this side ran."""
    found: dict[str, Block] = {}
    for event in said:
        if event.kind == "tool_use_completed" and "anthropic" not in event.payload:
            found.setdefault(event.payload["tool_use_id"], _result(event.payload))
    return found


def _settle(turns: list[Message], results: Mapping[str, Block]) -> None:
    """Answer what the last turn asked for, with an error where there is no answer."""
    if turns and (owed := _owed(turns[-1])):
        _add(turns, "user", [results.get(asked, _error(asked)) for asked in owed])


def _add(turns: list[Message], role: str, blocks: list[Block]) -> None:
    if not turns or turns[-1]["role"] != role:
        turns.append({"role": role, "content": []})
    turns[-1]["content"] += blocks


def _owed(turn: Message) -> list[str]:
    if turn["role"] == "user":
        return []
    return [block["id"] for block in turn["content"] if block["type"] == "tool_use"]


def _result(payload: Mapping[str, Any]) -> Block:
    told = payload["tool_result"]
    if not payload["success"]:
        told = payload["error_message"] or told or NO_ANSWER
    content = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    found = {"type": "tool_result", "tool_use_id": payload["tool_use_id"], "content": content}
    return found if payload["success"] else {**found, "is_error": True}


def _error(asked: str) -> Block:
    return {"type": "tool_result", "tool_use_id": asked, "content": NO_ANSWER, "is_error": True}


def _blocks(content: Any) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
