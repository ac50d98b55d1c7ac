"""Items of the OpenAI Agents SDK as events of a conversation, and back, with nothing lost.

A field that the event kind has is stored there; all other fields of the item are stored in
`openai`. An item without a matching kind is stored whole: as `openai_item`, or as the text
`openai_json` if it is not canonical JSON (U+0000, a lone surrogate, an integer beyond 2⁵³).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical

Item: TypeAlias = dict[str, Any]
KindAndPayload: TypeAlias = tuple[str, dict[str, Any]]

USER, AGENT, THINKING = "user_message_sent", "agent_message_sent", "thinking"
REQUESTED, COMPLETED = "tool_use_requested", "tool_use_completed"
KINDS = (USER, AGENT, THINKING, REQUESTED, COMPLETED)
UNKNOWN_TOOL = "unknown"


def event_of(item: Mapping[str, Any], tool_names: Mapping[str, str]) -> KindAndPayload:
    """Return the kind and payload of the event that stores an item."""
    kind = item.get("type", "message")
    if kind == "message" and _are_texts(item, "role") and isinstance(item.get("content"), str | list):
        return _message(item)
    if kind == "reasoning" and isinstance(item.get("summary"), list):
        return THINKING, {"content": item["summary"], "openai": {}, **_rest(item, "type", "summary")}
    if kind == "function_call" and _are_texts(item, "call_id", "name", "arguments"):
        return _call(item)
    if kind == "function_call_output" and _are_texts(item, "call_id") and _is_output(item.get("output")):
        return _output(item, tool_names)
    return opaque_event(item)


def opaque_event(item: Mapping[str, Any]) -> KindAndPayload:
    """Return an event that stores the whole item as an agent's message without content."""
    try:
        canonical(item)
    except NotCanonical:
        return AGENT, {"content": [], "openai_json": json.dumps(item)}
    return AGENT, {"content": [], "openai_item": dict(item)}


def item_of(kind: str, payload: Mapping[str, Any]) -> Item | None:
    """Return the item that an event stores; None for reasoning that is not from an item."""
    if "openai_json" in payload:
        found: Item = json.loads(payload["openai_json"])
        return found
    if "openai_item" in payload:
        return dict(payload["openai_item"])
    rest = payload.get("openai", {})
    if kind == USER:
        return {"role": "user", "content": payload["content"], **rest}
    if kind == AGENT:
        return {"role": "assistant", "content": payload["content"], **rest}
    if kind == REQUESTED:
        arguments = canonical(payload["tool_args"]).decode() if "arguments" not in rest else ""
        call = {"type": "function_call", "call_id": payload["tool_use_id"], "name": payload["tool_name"]}
        return {**call, "arguments": arguments, **rest}
    if kind == COMPLETED:
        output = {"type": "function_call_output", "call_id": payload["tool_use_id"]}
        return {**output, "output": _output_of(payload), **rest}
    return {"type": "reasoning", "summary": payload["content"], **rest} if "openai" in payload else None


def _message(item: Mapping[str, Any]) -> KindAndPayload:
    role = item.get("role")
    excluded = ("content", "role") if role in {"user", "assistant"} else ("content",)
    return AGENT if role == "assistant" else USER, {"content": item["content"], **_rest(item, *excluded)}


def _call(item: Mapping[str, Any]) -> KindAndPayload:
    try:
        args = json.loads(item["arguments"])
        exact = canonical(args).decode() == item["arguments"]
    except (ValueError, NotCanonical):
        args, exact = {}, False
    if not isinstance(args, dict):
        args, exact = {}, False
    excluded = ("type", "call_id", "name", *(["arguments"] if exact else []))
    return REQUESTED, {
        "tool_use_id": item["call_id"],
        "tool_name": item["name"],
        "tool_args": args,
        **_rest(item, *excluded),
    }


def _output(item: Mapping[str, Any], tool_names: Mapping[str, str]) -> KindAndPayload:
    return COMPLETED, {
        "tool_use_id": item["call_id"],
        "tool_name": tool_names.get(item["call_id"], UNKNOWN_TOOL),
        "tool_result": item["output"],
        "success": True,
        "error_message": None,
        **_rest(item, "type", "call_id", "output"),
    }


def _rest(item: Mapping[str, Any], *excluded: str) -> dict[str, Any]:
    rest = {name: value for name, value in item.items() if name not in excluded}
    return {"openai": rest} if rest else {}


def _are_texts(item: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(item.get(name), str) for name in names)


def _output_of(payload: Mapping[str, Any]) -> Any:
    """Return a result in a form of the SDK: a text, or a list of its parts."""
    result = payload["tool_result"]
    if _is_output(result):
        return result
    return json.dumps(result) if payload["success"] else payload["error_message"] or "the tool failed"


def _is_output(result: Any) -> bool:
    if isinstance(result, str):
        return True
    return isinstance(result, list) and all(
        isinstance(part, dict) and str(part.get("type", "")).startswith("input_") for part in result
    )
