"""HTTP routes of what a conversation proves: proofs of events, protection, and erasure."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Response

from foja.web.bodies import body_of, describe_body
from foja.web.caller import Reader, Writer
from foja.web.conversations.address import ReadConversation, WrittenConversation
from foja.web.reference.answers.documents import AddedDocument
from foja.web.reference.answers.events import ErasedEvent, EventProofAnswer
from foja.web.reference.openapi import again
from foja.web.routers import api_router
from foja.web.streams.appends import Key
from foja.web.streams.proofs import ErasureRequest, ProtectionRequest, Seq, proof_of, protect_once
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/conversations/{conversation_id}", "conversations")


@routes.get("/events/{seq}/proof", response_model=EventProofAnswer)
async def proof(caller: Reader, conversation: ReadConversation, seq: Seq) -> Response:
    """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
    return JsonAnswer(await proof_of(conversation, seq, caller.app.trust[0]))


@routes.post("/events/{seq}/erase", response_model=ErasedEvent, openapi_extra=describe_body(ErasureRequest))
async def erase(
    caller: Writer,
    body: Annotated[ErasureRequest, body_of(ErasureRequest)],
    conversation: WrittenConversation,
    seq: Seq,
) -> Response:
    """Erase the body of an event. Its hash and every proof of it stay valid."""
    await conversation.erase(seq, reason=body.reason, actor=caller.principal.actor)
    return JsonAnswer({"seq": seq, "erased": True})


@routes.post(
    "/protect",
    status_code=201,
    response_model=AddedDocument,
    responses=again(AddedDocument),
    openapi_extra=describe_body(ProtectionRequest),
)
async def protect(
    caller: Writer,
    body: Annotated[ProtectionRequest, body_of(ProtectionRequest)],
    conversation: WrittenConversation,
    key: Key = None,
) -> Response:
    """Add the sealed events as a document and request evidence of it."""
    protect = partial(caller.app.conversations.protect, conversation.id)
    return await protect_once(caller, key, f"/v1/conversations/{conversation.id}/protect", body, protect)
