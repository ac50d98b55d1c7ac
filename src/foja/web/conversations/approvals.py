"""HTTP routes of approvals: request, list, read, decide."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response

from foja.conversations.model.approvals import Approval
from foja.web.bodies import ApprovalRequest, DecisionBody, body_of, describe_body
from foja.web.conversations.routes import Context, json_response

routes = APIRouter(prefix="/v1/conversations/{conversation_id}/approvals", tags=["approvals"])


@routes.post("", status_code=201, openapi_extra=describe_body(ApprovalRequest))
async def request(
    ctx: Context, conversation_id: str, body: Annotated[ApprovalRequest, body_of(ApprovalRequest)]
) -> Response:
    """Request an approval of a tool use. The same approval_id again returns the first request."""
    conversation = await ctx.conversation(conversation_id)
    requested = await conversation.request_approval(
        body.tool_name,
        body.tool_args,
        ttl=body.ttl,
        approval_id=body.approval_id,
        tool_use_id=body.tool_use_id,
        turn=body.turn,
        block_index=body.block_index,
        actor=body.actor,
    )
    return json_response(as_json(requested), 201)


@routes.get("")
async def approvals(ctx: Context, conversation_id: str) -> Response:
    """List the approvals of a conversation in order, with their states."""
    conversation = await ctx.conversation(conversation_id)
    return json_response({"approvals": [as_json(each) for each in await conversation.approvals()]})


@routes.get("/{approval_id}")
async def approval(ctx: Context, conversation_id: str, approval_id: str) -> Response:
    """Return one approval with its state."""
    conversation = await ctx.conversation(conversation_id)
    return json_response(as_json(await conversation.approval(approval_id)))


@routes.post("/{approval_id}", openapi_extra=describe_body(DecisionBody))
async def decide(
    ctx: Context, conversation_id: str, approval_id: str, body: Annotated[DecisionBody, body_of(DecisionBody)]
) -> Response:
    """Decide. The first decision or expiry wins and is returned; `mine` says whether it is yours."""
    conversation = await ctx.conversation(conversation_id)
    decision = await conversation.decide(approval_id, body.decision, reason=body.reason, actor=body.actor)
    return json_response({**as_json(decision.approval), "mine": decision.mine})


def as_json(approval: Approval) -> dict[str, Any]:
    """Return an approval as a JSON object."""
    return {
        "id": approval.id,
        "state": approval.state,
        "tool_name": approval.tool_name,
        "tool_args": approval.tool_args,
        "tool_use_id": approval.tool_use_id,
        "expires_at": approval.expires_at.isoformat() if approval.expires_at else None,
        "reason": approval.reason,
        "decided_by": approval.decided_by,
        "requested_seq": approval.requested_seq,
        "decided_seq": approval.decided_seq,
    }
