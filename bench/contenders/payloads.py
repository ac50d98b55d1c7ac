"""The bodies of events: the same for every contender, built again for every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

TEXT = "The quick brown fox jumps over the lazy dog, and then it rests under an old oak until noon."
Payload = dict[str, object]


@dataclass(frozen=True, slots=True)
class Body:
    """A kind of event and what its events contain."""

    name: str
    kind: str
    payload: Callable[[int], Payload]

    def json(self, call: int) -> str:
        """Return the payload of a call as JSON."""
        return json.dumps(self.payload(call))


def message(call: int) -> Payload:
    """Return one field of about a hundred bytes."""
    return {"content": f"{TEXT[:80]} {call}"}


def answer(call: int) -> Payload:
    """Return a chat message with its model and its tokens."""
    tokens = {"input": 1_204 + call % 97, "output": 57, "cached": 1_024, "cost_usd": 0.0042}
    return {
        "content": f"{TEXT} {call}",
        "model": "claude-sonnet-4-5-20250929",
        "stop_reason": "end_turn",
        "tokens": tokens,
        "temperature": 0.7,
    }


def tool_result(call: int) -> Payload:
    """Return a tool result of about a kilobyte, with nested fields and numbers."""
    hits = [
        {
            "id": call + n,
            "title": f"Result {n} of the search",
            "url": f"https://example.com/contracts/2026/{call + n}",
            "snippet": TEXT,
            "score": 0.91 - n / 7,
            "tags": ["contract", "draft"],
            "owner": {"name": "Ana", "team": 7, "active": True},
        }
        for n in range(3)
    ]
    found = {"hits": hits, "total": 1_204 + call, "milliseconds": 12.5, "next": None}
    return {
        "tool_use_id": f"use-{call}",
        "tool_name": "search",
        "tool_result": found,
        "success": True,
        "error_message": None,
    }


MESSAGE = Body("one field", "user_message_sent", message)
ANSWER = Body("chat message", "agent_message_sent", answer)
TOOL_RESULT = Body("tool result of 1 kB", "tool_use_completed", tool_result)
