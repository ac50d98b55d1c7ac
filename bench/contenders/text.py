"""What is written: the same event for everybody, spelled anew at every call."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import LiteralString

from foja.sql import read_queries

KIND, RESULT = "user_message_sent", "tool_use_completed"
WORDS = "The quick brown fox jumps over the lazy dog, and then it rests under an old oak until noon."


def payload(call: int) -> dict[str, object]:
    """Return a message of about a hundred bytes."""
    return {"content": f"{WORDS[:80]} {call}"}


def result(call: int) -> dict[str, object]:
    """Return a tool's result of about a hundred bytes: several fields, no short cut for their check."""
    numbers = {"tool_use_id": f"use-{call}", "tool_name": "search", "tool_result": {"hits": call, "ms": 12.5}}
    return {**numbers, "success": True, "error_message": None}


def body(call: int) -> str:
    """Return the same message as JSON."""
    return json.dumps(payload(call))


def query(name: str) -> LiteralString:
    """Return one of the bench's own named queries."""
    return _queries()[name]


@cache
def _queries() -> dict[str, str]:
    return read_queries(files("bench") / "sql")
