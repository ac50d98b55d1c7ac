"""A turn as items of the OpenAI Agents SDK, grouped as its runner saves them."""

from __future__ import annotations

import json
from typing import Any

from bench.contenders.transcript import Turn


def to_items(turn: Turn) -> list[list[Any]]:
    """Return the question, the calls, the results, the answer."""
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.args),
            "status": "completed",
        }
        for call in turn.calls
    ]
    results = [
        {"type": "function_call_output", "call_id": call.id, "output": call.result} for call in turn.calls
    ]
    text = {"type": "output_text", "text": turn.answer, "annotations": [], "logprobs": []}
    answer = {
        "id": f"msg_{turn.number:06}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    return [[{"role": "user", "content": turn.question}], calls, results, [answer]]
