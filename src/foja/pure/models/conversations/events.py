"""The event kinds of conversations. The sequence number orders them, never a clock."""

from __future__ import annotations

from collections.abc import Mapping

from foja.errors import BadPayload
from foja.pure.core.canonical import canonical
from foja.pure.core.registry import API, Domain, Kind

PLACE = {"turn": "string|number", "block_index": "number"}
CONTENT = {"content": "string|array"}
REASON = {"reason": "string"}
TOOL = {"tool_use_id": "string", "tool_name": "string"}
APPROVAL = {"approval_id": "string"}
ASKED = {**APPROVAL, "tool_name": "string", "tool_args": "object", "expires_at": "string"}
DECIDED = {**APPROVAL, "decision": "string", "reason": "string|null"}
POLICY = {"policy": "string"}
DECISIONS = {"decision": frozenset({"approved", "denied", "expired"})}
DECISION = "approval_completed"  # over HTTP it needs the scope `approve`

CONVERSATION = Domain(
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
        Kind(
            "tool_use_requested",
            API,
            {**TOOL, "tool_args": "object"},
            {**PLACE, "result_seq": "number"},
            erasable=True,
        ),
        Kind(
            "tool_use_completed",
            API,
            {**TOOL, "tool_result": "any", "success": "boolean", "error_message": "string|null"},
            {**PLACE, "denied": "boolean"},
            erasable=True,
        ),
        Kind("approval_requested", API, ASKED, {**PLACE, "tool_use_id": "string"}, tracked=True),
        Kind(
            "approval_requested",
            API,
            {**ASKED, "decision_id": "string"},
            {**PLACE, "tool_use_id": "string", **POLICY},
            erasable=True,
            v=2,
            tracked=True,
        ),
        Kind(
            DECISION,
            API | {"sweeper"},
            DECIDED,
            PLACE,
            DECISIONS,
            keyed_by=("approval", "approval_id"),  # so that the first decision wins
            tracked=True,
        ),
        Kind(
            DECISION,
            API | {"sweeper"},
            {**DECIDED, "request_seq": "number", "tool_name": "string", "args_sha256": "string"},
            {**PLACE, **POLICY},
            DECISIONS,
            erasable=True,
            v=2,
            keyed_by=("approval", "approval_id"),
            digests=("args_sha256",),
            tracked=True,
        ),
        Kind("turn_paused", API, REASON, PLACE),
        Kind("content_refused", API, REASON, PLACE),
    ],
    aliases={"message": "agent_message_sent"},
)

# Never numbered, never stored: shown while a turn runs, until the persisted event replaces them.
TRANSIENT = Domain(
    "conversation",
    [
        Kind("thinking_chunk", API, {"text": "string"}),
        Kind("message_chunk", API, {"text": "string"}),
        Kind("complete", API, {}, {"reason": "string", "stop_reason": "string|null"}),
        Kind("error", API, {"message": "string"}, {"code": "string"}),
        Kind("session_start"),
        Kind("session_end", API, {}, {"reason": "string"}),
    ],
)


def check_transient(
    kind: str,
    payload: Mapping[str, object],
    *,
    turn: str | int | None = None,
    block_index: int | None = None,
    event_index: int | None = None,
    v: int = 1,
) -> Kind:
    """Return the transient kind. Raise `Refused` if the payload or an index is not valid."""
    rule = TRANSIENT.kind(kind, v, "api")
    if not isinstance(payload, dict):
        raise BadPayload(f"the payload of {kind} must be an object, not {type(payload).__name__}")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, str | int)):
        raise BadPayload(f"the turn of {kind} must be a string or an integer, not {type(turn).__name__}")
    for name, index in (("block_index", block_index), ("event_index", event_index)):
        if index is not None and (type(index) is not int or index < 0):
            raise BadPayload(f"the {name} of {kind} must be an integer from 0 on, not {index!r}")
    rule.check(payload)
    canonical([turn, block_index, event_index, payload])
    return rule
