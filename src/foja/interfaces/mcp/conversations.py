"""Tools about conversations that no other door has: the kinds, a page of events, approvals in one tool."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from foja.errors import BadPayload
from foja.interfaces.operations.call import call
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records import conversations
from foja.interfaces.operations.records.conversations import ConversationId, OpenConversation, known
from foja.pure.models.access.principal import Scope
from foja.pure.models.conversations.approvals import APPROVED, DENIED
from foja.pure.models.conversations.events import CONVERSATION

Answer = dict[str, Any]
BY_NAME = {each.name: each for each in conversations.OPERATIONS}


async def kinds(_: Caller) -> Answer:
    """List the kinds of events that a conversation can record, with the fields of their payloads."""
    return {
        "kinds": [
            {"kind": kind.name, "required": dict(kind.required), "optional": dict(kind.optional)}
            for kind in CONVERSATION.kinds
            if "api" in kind.sources and not kind.retired
        ]
    }


async def read(
    opened: OpenConversation,
    *,
    after: Annotated[int | None, "only events after this number"] = None,
    limit: Annotated[int, Field(ge=1, le=500), "at most this many events"] = 100,
) -> Answer:
    """Read the events of a conversation, in order."""
    events = await opened.stream.events(after=after, limit=limit)
    return {"events": [event.envelope() for event in events], "more": len(events) == limit}


async def approvals(
    caller: Caller,
    conversation_id: ConversationId,
    act: Annotated[
        Literal["list", "request", "approve", "deny"],
        "list those that wait; request one; or decide one, which needs its own scope",
    ] = "list",
    *,
    approval_id: Annotated[str | None, "which one to decide; for a request, your own name for it"] = None,
    tool_name: Annotated[str | None, "for a request: the tool to be approved"] = None,
    tool_args: Annotated[dict[str, Any] | None, "for a request: the arguments of that tool"] = None,
    policy: Annotated[str | None, "for a request: the rule that demands it"] = None,
    ttl_seconds: Annotated[float, Field(gt=0), "for a request: it expires after this"] = 3600.0,
    reason: Annotated[str | None, "for a decision: why"] = None,
) -> Answer:
    """List the approvals of tool uses that wait in a conversation, request one, or approve or deny one."""
    given: Answer = {"conversation_id": conversation_id, "approval_id": approval_id}
    if act == "list":
        found = await call(BY_NAME["conversation.approvals"], caller, given)
        return {"waiting": [each for each in found.approvals if each.open]}
    if act == "request":
        if not tool_name:
            raise BadPayload("a request of an approval names the tool: give tool_name, and its tool_args")
        given |= {"tool_name": tool_name, "tool_args": tool_args or {}, "policy": policy, "ttl": ttl_seconds}
        return asdict((await call(BY_NAME["conversation.request_approval"], caller, given)).answer)
    if not approval_id:
        raise BadPayload("a decision names its approval: give approval_id; the act `list` shows them")
    given |= {"decision": APPROVED if act == "approve" else DENIED, "reason": reason}
    return asdict(await call(BY_NAME["conversation.decide"], caller, given))


OPERATIONS = (
    Operation("conversation.kinds", "", kinds, Scope.READ, tool="conversation_kinds"),
    Operation("conversation.read", "", read, Scope.READ, known, tool="read_conversation"),
    # Each act asks for its own scope.
    Operation("conversation.approvals", "", approvals, None, tool="approvals", repeatable=False),
)
