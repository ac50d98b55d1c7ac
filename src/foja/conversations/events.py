"""What a conversation may say. Order is the sequence number, never a clock."""

from __future__ import annotations

from foja.core.registry import Domain, Kind, domain

API = frozenset({"api"})
PLACE = {"turn": "string|number", "block_index": "number"}
CONTENT = {"content": "string|array"}
REASON = {"reason": "string"}
TOOL = {"tool_use_id": "string", "tool_name": "string"}
APPROVAL = {"approval_id": "string"}

CONVERSATION: Domain = domain(
    "conversation",
    [
        Kind("user_message_sent", API, CONTENT, PLACE, erasable=True),
        Kind("thinking", API, CONTENT, PLACE, erasable=True),
        Kind(
            "agent_message_sent",
            API,
            CONTENT,
            {**PLACE, "model": "string", "tokens": "object|number", "stop_reason": "string|null"},
            erasable=True,
        ),
        Kind("tool_use_requested", API, {**TOOL, "tool_args": "object"}, PLACE, erasable=True),
        Kind(
            "tool_use_completed",
            API,
            {**TOOL, "tool_result": "any", "success": "boolean", "error_message": "string|null"},
            PLACE,
            erasable=True,
        ),
        Kind(
            "approval_requested",
            API,
            {**APPROVAL, "tool_name": "string", "tool_args": "object", "expires_at": "string"},
            PLACE,
        ),
        Kind(
            "approval_completed",
            API | {"sweeper"},
            {**APPROVAL, "decision": "string", "reason": "string|null"},
            PLACE,
            {"decision": frozenset({"approved", "denied", "expired"})},
        ),
        Kind("turn_paused", API, REASON, PLACE),
        Kind("content_refused", API, REASON, PLACE),
    ],
    aliases={"message": "agent_message_sent"},
)
