"""HTTP routes of slots and of transient events."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response

from foja.errors import UnknownEntity
from foja.ledger.reader import NUMBER
from foja.ledger.slots import Slots
from foja.web.bodies import Chunk, Extension, NewEvent, Reservation, Voiding, body_of, describe_body
from foja.web.context import WebContext
from foja.web.conversations.routes import Context, Key, json_response, status_of

routes = APIRouter(prefix="/v1/conversations/{conversation_id}", tags=["slots"])


@routes.post("/slots", status_code=201, openapi_extra=describe_body(Reservation))
async def reserve(
    ctx: Context, conversation_id: str, body: Annotated[Reservation, body_of(Reservation)]
) -> Response:
    """Reserve the next numbers, to be filled in any order before the deadline."""
    conversation = await ctx.conversation(conversation_id)
    slots = await conversation.reserve(body.count, ttl=body.ttl, intents=body.intents)
    reserved = {"token": str(slots.token), "seqs": slots.seqs, "deadline": slots.deadline.isoformat()}
    return json_response(reserved, 201)


@routes.post("/slots/{token}/extend", openapi_extra=describe_body(Extension))
async def extend(
    ctx: Context, conversation_id: str, token: str, body: Annotated[Extension, body_of(Extension)]
) -> Response:
    """Extend the deadline of the slots that are still open."""
    slots = await _slots(ctx, conversation_id, token, ())
    return json_response({"deadline": (await slots.extend(body.ttl)).isoformat()})


@routes.post("/slots/{token}/{seq}", status_code=201, openapi_extra=describe_body(NewEvent))
async def fill(
    ctx: Context,
    conversation_id: str,
    token: str,
    seq: str,
    body: Annotated[NewEvent, body_of(NewEvent)],
    key: Key = None,
) -> Response:
    """Fill a slot with its event. The same event again returns the first, with 200."""
    slots = await _slots(ctx, conversation_id, token, [_parse_seq(seq)])
    event = await slots.fill(0, body.kind, body.payload, actor=body.actor, idempotency_key=key)
    return json_response(event.envelope(), status_of(event))


@routes.post("/slots/{token}/{seq}/void", openapi_extra=describe_body(Voiding))
async def void(
    ctx: Context, conversation_id: str, token: str, seq: str, body: Annotated[Voiding, body_of(Voiding)]
) -> Response:
    """Void a slot; the conversation records the reason."""
    slots = await _slots(ctx, conversation_id, token, [_parse_seq(seq)])
    await slots.void(0, reason=body.reason)
    return json_response({"seq": slots.seq(0), "voided": True})


@routes.post("/transients", status_code=202, openapi_extra=describe_body(Chunk))
async def emit(ctx: Context, conversation_id: str, body: Annotated[Chunk, body_of(Chunk)]) -> Response:
    """Send a transient event to the current followers; it is not numbered and not stored."""
    conversation = await ctx.conversation(conversation_id)
    transient = await conversation.emit(
        body.kind,
        body.payload,
        turn=body.turn,
        block_index=body.block_index,
        event_index=body.event_index,
    )
    return json_response(transient.envelope(), 202)


async def _slots(ctx: WebContext, conversation_id: str, token: str, seqs: list[int] | tuple[()]) -> Slots:
    conversation = await ctx.conversation(conversation_id)
    try:
        return conversation.slots(UUID(token), seqs)
    except ValueError:
        raise UnknownEntity(
            f"not a valid reservation token: {token!r}; use the token that the reservation returned"
        ) from None


def _parse_seq(text: str) -> int:
    if not NUMBER.fullmatch(text):
        raise UnknownEntity(f"not a valid sequence number: {text!r}; use a number of the reservation")
    return int(text)
