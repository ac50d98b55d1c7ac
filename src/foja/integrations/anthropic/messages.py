"""A conversation as the `messages` of the next request to Anthropic.

Every requested tool use has its result in the next message, as the API requires. A tool use
that was denied, failed, was voided or has no result gets an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from foja.engine.ledger.event import Event
from foja.integrations.anthropic.blocks import Block, block_of

Message: TypeAlias = dict[str, Any]
MODEL = frozenset({"agent_message_sent", "thinking", "tool_use_requested", "tool_use_completed"})
ANSWERS = frozenset({"tool_use_completed", "slot.voided", "slot.open"})
NO_ANSWER = "no result: the tool was denied, was interrupted, or is still running"


def messages(events: Iterable[Event]) -> list[Message]:
    """Return the events as alternating messages of user and assistant."""
    stored = [event for event in events if event.payload is not None]
    results = _results(stored)
    turns: list[Message] = []
    for event in stored:
        if event.kind == "user_message_sent":
            _add_results(turns, results)
            _add(turns, "user", _blocks(event.payload["content"]))
        elif event.kind in ANSWERS and "anthropic" not in event.payload:
            _add_results(turns, results)
        elif event.kind in MODEL and (block := block_of(event.kind, event.payload)):
            if block["type"] != "tool_use":
                _add_results(turns, results)
            _add(turns, "assistant", [block])
    _add_results(turns, results)
    return turns


def _results(stored: Iterable[Event]) -> dict[str, Block]:
    """Return the first result of each tool use that ran on this side."""
    found: dict[str, Block] = {}
    for event in stored:
        if event.kind == "tool_use_completed" and "anthropic" not in event.payload:
            found.setdefault(event.payload["tool_use_id"], _result(event.payload))
    return found


def _add_results(turns: list[Message], results: Mapping[str, Block]) -> None:
    """Add the results of the last turn's tool uses, with an error where there is none."""
    if turns and (requested := _requested(turns[-1])):
        _add(turns, "user", [results.get(each, _error(each)) for each in requested])


def _add(turns: list[Message], role: str, blocks: list[Block]) -> None:
    if not turns or turns[-1]["role"] != role:
        turns.append({"role": role, "content": []})
    turns[-1]["content"] += blocks


def _requested(turn: Message) -> list[str]:
    if turn["role"] == "user":
        return []
    return [block["id"] for block in turn["content"] if block["type"] == "tool_use"]


def _result(payload: Mapping[str, Any]) -> Block:
    result = payload["tool_result"]
    if not payload["success"]:
        result = payload["error_message"] or result or NO_ANSWER
    content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    found = {"type": "tool_result", "tool_use_id": payload["tool_use_id"], "content": content}
    return found if payload["success"] else {**found, "is_error": True}


def _error(tool_use_id: str) -> Block:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": NO_ANSWER, "is_error": True}


def _blocks(content: Any) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
