"""The payloads: the same for every contender, built again for every call."""

from __future__ import annotations

import json

KIND, RESULT = "user_message_sent", "tool_use_completed"
TEXT = "The quick brown fox jumps over the lazy dog, and then it rests under an old oak until noon."


def payload(call: int) -> dict[str, object]:
    """Return a message of about a hundred bytes."""
    return {"content": f"{TEXT[:80]} {call}"}


def result(call: int) -> dict[str, object]:
    """Return a tool result of about a hundred bytes, with several fields to check."""
    fields = {"tool_use_id": f"use-{call}", "tool_name": "search", "tool_result": {"hits": call, "ms": 12.5}}
    return {**fields, "success": True, "error_message": None}


def body(call: int) -> str:
    """Return the same message as JSON."""
    return json.dumps(payload(call))
