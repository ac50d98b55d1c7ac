"""Items of the OpenAI Agents SDK as events of a conversation, and back, with nothing lost.

What a kind has a field for goes there; every other field of the item travels in `openai`.
An item no kind fits travels whole: as `openai_item`, or as the text `openai_json` if it
holds what a ledger cannot (U+0000, half of a surrogate pair, an integer beyond 2⁵³).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from foja.core.canonical import canonical
from foja.errors import NotCanonical

Item: TypeAlias = dict[str, Any]
Saying: TypeAlias = tuple[str, dict[str, Any]]

USER, AGENT, THINKING = "user_message_sent", "agent_message_sent", "thinking"
ASKED, ANSWERED = "tool_use_requested", "tool_use_completed"
KINDS = (USER, AGENT, THINKING, ASKED, ANSWERED)
UNNAMED = "unknown"


def saying(item: Mapping[str, Any], tool_names: Mapping[str, str]) -> Saying:
    """Return the kind and payload that say what an item says."""
    kind = item.get("type", "message")
    if kind == "message" and _texts(item, "role") and isinstance(item.get("content"), str | list):
        return _message(item)
    if kind == "reasoning" and isinstance(item.get("summary"), list):
        return THINKING, {"content": item["summary"], "openai": {}, **_rest(item, "type", "summary")}
    if kind == "function_call" and _texts(item, "call_id", "name", "arguments"):
        return _call(item)
    if kind == "function_call_output" and _texts(item, "call_id") and _is_told(item.get("output")):
        return _output(item, tool_names)
    return whole(item)


def whole(item: Mapping[str, Any]) -> Saying:
    """Return an item of which a conversation knows only that the agent's side produced it."""
    try:
        canonical(item)
    except NotCanonical:
        return AGENT, {"content": [], "openai_json": json.dumps(item)}
    return AGENT, {"content": [], "openai_item": dict(item)}


def item_of(kind: str, payload: Mapping[str, Any]) -> Item | None:
    """Return the item an event stands for; None for a thought that no item carried here."""
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
    if kind == ASKED:
        spelled = canonical(payload["tool_args"]).decode() if "arguments" not in rest else ""
        return {
            **_naming("function_call", payload),
            "arguments": spelled,
            "name": payload["tool_name"],
            **rest,
        }
    if kind == ANSWERED:
        return {**_naming("function_call_output", payload), "output": _told(payload), **rest}
    return {"type": "reasoning", "summary": payload["content"], **rest} if "openai" in payload else None


def _message(item: Mapping[str, Any]) -> Saying:
    role = item.get("role")
    left_out = ("content", "role") if role in {"user", "assistant"} else ("content",)
    return AGENT if role == "assistant" else USER, {"content": item["content"], **_rest(item, *left_out)}


def _call(item: Mapping[str, Any]) -> Saying:
    try:
        args = json.loads(item["arguments"])
        exact = canonical(args).decode() == item["arguments"]
    except (ValueError, NotCanonical):
        args, exact = {}, False
    if not isinstance(args, dict):
        args, exact = {}, False
    left_out = ("type", "call_id", "name", *(["arguments"] if exact else []))
    return ASKED, {
        "tool_use_id": item["call_id"],
        "tool_name": item["name"],
        "tool_args": args,
        **_rest(item, *left_out),
    }


def _output(item: Mapping[str, Any], tool_names: Mapping[str, str]) -> Saying:
    return ANSWERED, {
        "tool_use_id": item["call_id"],
        "tool_name": tool_names.get(item["call_id"], UNNAMED),
        "tool_result": item["output"],
        "success": True,
        "error_message": None,
        **_rest(item, "type", "call_id", "output"),
    }


def _rest(item: Mapping[str, Any], *left_out: str) -> dict[str, Any]:
    rest = {name: value for name, value in item.items() if name not in left_out}
    return {"openai": rest} if rest else {}


def _texts(item: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(item.get(name), str) for name in names)


def _naming(kind: str, payload: Mapping[str, Any]) -> Item:
    return {"type": kind, "call_id": payload["tool_use_id"]}


def _told(payload: Mapping[str, Any]) -> Any:
    """Return a result as the SDK takes it: a text, or its own list of parts."""
    result = payload["tool_result"]
    if _is_told(result):
        return result
    return json.dumps(result) if payload["success"] else payload["error_message"] or "the tool failed"


def _is_told(result: Any) -> bool:
    if isinstance(result, str):
        return True
    return isinstance(result, list) and all(
        isinstance(part, dict) and str(part.get("type", "")).startswith("input_") for part in result
    )
