"""Asking people over HTTP: request, decide, look."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response

from foja.conversations.model.approvals import Approval
from foja.web.bodies import ApprovalRequest, DecisionBody, body_of, described
from foja.web.conversations.routes import Context, document

routes = APIRouter(prefix="/v1/conversations/{conversation_id}/approvals", tags=["approvals"])


@routes.post("", status_code=201, openapi_extra=described(ApprovalRequest))
async def request(
    ctx: Context, conversation_id: str, body: Annotated[ApprovalRequest, body_of(ApprovalRequest)]
) -> Response:
    """Ask somebody to allow a tool. The same approval_id again returns the first request."""
    talk = await ctx.conversation(conversation_id)
    asked = await talk.request_approval(
        body.tool_name,
        body.tool_args,
        ttl=body.ttl,
        approval_id=body.approval_id,
        tool_use_id=body.tool_use_id,
        turn=body.turn,
        block_index=body.block_index,
        actor=body.actor,
    )
    return document(shown(asked), 201)


@routes.get("")
async def approvals(ctx: Context, conversation_id: str) -> Response:
    """List what was asked, in order, and how each stands."""
    talk = await ctx.conversation(conversation_id)
    return document({"approvals": [shown(each) for each in await talk.approvals()]})


@routes.get("/{approval_id}")
async def approval(ctx: Context, conversation_id: str, approval_id: str) -> Response:
    """Say how one approval stands."""
    talk = await ctx.conversation(conversation_id)
    return document(shown(await talk.approval(approval_id)))


@routes.post("/{approval_id}", openapi_extra=described(DecisionBody))
async def decide(
    ctx: Context, conversation_id: str, approval_id: str, body: Annotated[DecisionBody, body_of(DecisionBody)]
) -> Response:
    """Decide. The first decision or expiry wins and is what you get; `mine` says whether it is yours."""
    talk = await ctx.conversation(conversation_id)
    stands = await talk.decide(approval_id, body.decision, reason=body.reason, actor=body.actor)
    return document({**shown(stands.approval), "mine": stands.mine})


def shown(each: Approval) -> dict[str, Any]:
    """Return an approval as JSON carries it."""
    return {
        "id": each.id,
        "state": each.state,
        "tool_name": each.tool_name,
        "tool_args": each.tool_args,
        "tool_use_id": each.tool_use_id,
        "expires_at": each.expires_at.isoformat() if each.expires_at else None,
        "reason": each.reason,
        "decided_by": each.decided_by,
        "requested_seq": each.requested_seq,
        "decided_seq": each.decided_seq,
    }
