"""HTTP routes of approvals: request, list, read, decide."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Response

from foja.conversations.model.approvals import Approval
from foja.web.bodies import ApprovalRequest, DecisionBody, body_of, describe_body
from foja.web.caller import Approver, Writer
from foja.web.conversations.address import DecidedConversation, ReadConversation, WrittenConversation
from foja.web.reference.answers.conversations import ApprovalAnswer, ApprovalList, DecidedApproval
from foja.web.reference.openapi import again
from foja.web.routers import api_router
from foja.web.streams.appends import Key, keyed
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/conversations/{conversation_id}/approvals", "approvals")


@routes.post(
    "",
    status_code=201,
    response_model=ApprovalAnswer,
    responses=again(ApprovalAnswer),
    openapi_extra=describe_body(ApprovalRequest),
)
async def request(
    caller: Writer,
    body: Annotated[ApprovalRequest, body_of(ApprovalRequest)],
    conversation: WrittenConversation,
    key: Key = None,
) -> Response:
    """Request an approval of a tool use. The same approval_id again returns the first request."""
    request, asked = keyed(caller, key, f"/v1/conversations/{conversation.id}/approvals"), dict(body)
    if found := await request.found(asked):
        return JsonAnswer(as_json(await conversation.approval(found[0])), 200)
    fields = caller.signed(body)
    if key is not None and body.approval_id is None:
        fields["approval_id"] = str(request.new_id("approval"))
    approval = await conversation.request_approval(**fields)
    first = await request.note(asked, approval.id)
    return JsonAnswer(as_json(approval), 200 if first else 201)


@routes.get("", response_model=ApprovalList)
async def approvals(conversation: ReadConversation) -> Response:
    """List the approvals of a conversation in order, with their states."""
    return JsonAnswer({"approvals": [as_json(each) for each in await conversation.approvals()]})


@routes.get("/{approval_id:path}", response_model=ApprovalAnswer)
async def approval(conversation: ReadConversation, approval_id: str) -> Response:
    """Return one approval with its state."""
    return JsonAnswer(as_json(await conversation.approval(approval_id)))


@routes.post("/{approval_id:path}", response_model=DecidedApproval, openapi_extra=describe_body(DecisionBody))
async def decide(
    caller: Approver,
    body: Annotated[DecisionBody, body_of(DecisionBody)],
    conversation: DecidedConversation,
    approval_id: str,
) -> Response:
    """Decide. The first decision or expiry wins and is returned; `mine` says whether it is yours."""
    decision = await conversation.decide(approval_id, **caller.signed(body))
    return JsonAnswer({**as_json(decision.approval), "mine": decision.mine})


def as_json(approval: Approval) -> dict[str, Any]:
    """Return an approval as a JSON object."""
    expires_at = approval.expires_at.isoformat() if approval.expires_at else None
    return {**asdict(approval), "expires_at": expires_at}
