"""Tools about conversations: open, append, read, prove."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from foja.errors import BadPayload
from foja.interfaces.mcp.agent import agent_with
from foja.pure.core.bundle.proof_file import SUFFIX
from foja.pure.models.access.principal import Scope
from foja.pure.models.conversations.approvals import APPROVED, DENIED, Approval
from foja.pure.models.conversations.events import CONVERSATION, DECISION

ConversationId = Annotated[str, Field(description="the id of a conversation, a UUID")]
Seq = Annotated[int, Field(ge=0, description="the number of an event, from 0 on")]


async def conversation_kinds() -> dict[str, Any]:
    """List the kinds of events that a conversation can record, with the fields of their payloads."""
    agent_with(Scope.READ)
    return {
        "kinds": [
            {"kind": kind.name, "required": dict(kind.required), "optional": dict(kind.optional)}
            for kind in CONVERSATION.kinds
            if "api" in kind.sources and not kind.retired
        ]
    }


async def open_conversation() -> dict[str, Any]:
    """Open a new conversation and return its id. It exists from its first event on."""
    agent = agent_with(Scope.WRITE)
    return {"conversation_id": str((await agent.app.conversations.open()).id)}


async def append_event(
    conversation_id: ConversationId,
    kind: Annotated[str, Field(description="the kind of the event, such as agent_message_sent")],
    payload: Annotated[dict[str, Any], Field(description="the fields of the kind; see conversation_kinds")],
    idempotency_key: Annotated[
        str | None, Field(description="your name for the event; the same key returns the same event")
    ] = None,
    expected_seq: Annotated[
        int | None, Field(description="the number it must get; refused if the conversation has grown")
    ] = None,
) -> dict[str, Any]:
    """Record an event at the end of a conversation. It cannot be changed afterwards, and can be proven."""
    agent = agent_with(Scope.WRITE)
    if kind == DECISION:
        agent_with(Scope.APPROVE)
    conversation = await agent.app.conversations.open(conversation_id)
    event = await conversation.append(
        kind, payload, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=agent.actor
    )
    return {**event.envelope(), "replayed": event.replayed}


async def read_conversation(
    conversation_id: ConversationId,
    after: Annotated[int | None, Field(description="only events after this number")] = None,
    limit: Annotated[int, Field(ge=1, le=500, description="at most this many events")] = 100,
) -> dict[str, Any]:
    """Read the events of a conversation, in order."""
    agent = agent_with(Scope.READ)
    conversation = await agent.app.conversations.open(conversation_id)
    await conversation.state()  # refuses a stream of another domain
    events = await conversation.events(after=after, limit=limit)
    return {"events": [event.envelope() for event in events], "more": len(events) == limit}


async def prove_event(conversation_id: ConversationId, seq: Seq) -> dict[str, Any]:
    """Prove that an event is in the log. Save `file`, which is Base64, as `file_name` for `foja verify`."""
    agent = agent_with(Scope.READ)
    conversation = await agent.app.conversations.open(conversation_id)
    proven = await conversation.prove(seq)
    report = proven.verify(trust=agent.app.trust)
    return {
        "file": b64encode(proven.file()).decode(),
        "file_name": f"{conversation.id}-{seq}{SUFFIX}",
        "event": proven.event_text(),
        "proof": proven.proof_text(),
        "index": proven.index,
        "size": proven.size,
        "log_key": agent.app.trust[0],
        "verdict": str(report.verdict),
        "headline": report.document()["headline"],
    }


async def approvals(
    conversation_id: ConversationId,
    act: Annotated[
        Literal["list", "request", "approve", "deny"],
        Field(description="list those that wait; request one; or decide one, which needs its own scope"),
    ] = "list",
    approval_id: Annotated[
        str | None, Field(description="which one to decide; for a request, your own name for it")
    ] = None,
    tool_name: Annotated[str | None, Field(description="for a request: the tool to be approved")] = None,
    tool_args: Annotated[
        dict[str, Any] | None, Field(description="for a request: the arguments of that tool")
    ] = None,
    policy: Annotated[str | None, Field(description="for a request: the rule that demands it")] = None,
    ttl_seconds: Annotated[float, Field(gt=0, description="for a request: it expires after this")] = 3600.0,
    reason: Annotated[str | None, Field(description="for a decision: why")] = None,
) -> dict[str, Any]:
    """List the approvals of tool uses that wait in a conversation, request one, or approve or deny one."""
    agent = agent_with({"list": Scope.READ, "request": Scope.WRITE}.get(act, Scope.APPROVE))
    conversation = await agent.app.conversations.open(conversation_id)
    if act == "list":
        return {"waiting": [_approval(each) for each in await conversation.approvals() if each.open]}
    if act == "request":
        if not tool_name:
            raise BadPayload("a request of an approval names the tool: give tool_name, and its tool_args")
        requested = await conversation.request_approval(
            tool_name,
            tool_args or {},
            ttl=ttl_seconds,
            approval_id=approval_id,
            policy=policy,
            actor=agent.actor,
        )
        return _approval(requested)
    if not approval_id:
        raise BadPayload("a decision names its approval: give approval_id; the act `list` shows them")
    decision = APPROVED if act == "approve" else DENIED
    decided = await conversation.decide(approval_id, decision, reason=reason, actor=agent.actor)
    return {**_approval(decided.approval), "mine": decided.mine}


def _approval(approval: Approval) -> dict[str, Any]:
    expires_at = approval.expires_at.isoformat() if approval.expires_at else None
    return {**asdict(approval), "expires_at": expires_at}


TOOLS = (conversation_kinds, open_conversation, append_event, read_conversation, approvals, prove_event)
