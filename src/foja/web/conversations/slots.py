"""Numbers kept for events to come, and what is said in passing, over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response

from foja.errors import UnknownEntity
from foja.ledger.reader import NUMBER
from foja.ledger.slots import Slots
from foja.web.bodies import Chunk, Extension, NewEvent, Reservation, Voiding, body_of, described
from foja.web.context import WebContext
from foja.web.conversations.routes import Context, Key, created, document

routes = APIRouter(prefix="/v1/conversations/{conversation_id}", tags=["slots"])


@routes.post("/slots", status_code=201, openapi_extra=described(Reservation))
async def reserve(
    ctx: Context, conversation_id: str, body: Annotated[Reservation, body_of(Reservation)]
) -> Response:
    """Take the next numbers, to be filled in any order before the deadline."""
    talk = await ctx.conversation(conversation_id)
    slots = await talk.reserve(body.count, ttl=body.ttl, intents=body.intents)
    found = {"token": str(slots.token), "seqs": slots.seqs, "deadline": slots.deadline.isoformat()}
    return document(found, 201)


@routes.post("/slots/{token}/extend", openapi_extra=described(Extension))
async def extend(
    ctx: Context, conversation_id: str, token: str, body: Annotated[Extension, body_of(Extension)]
) -> Response:
    """Keep the numbers that are still open for longer."""
    slots = await _slots(ctx, conversation_id, token, ())
    return document({"deadline": (await slots.extend(body.ttl)).isoformat()})


@routes.post("/slots/{token}/{seq}", status_code=201, openapi_extra=described(NewEvent))
async def fill(
    ctx: Context,
    conversation_id: str,
    token: str,
    seq: str,
    body: Annotated[NewEvent, body_of(NewEvent)],
    key: Key = None,
) -> Response:
    """Write the event a number was kept for. The same again returns the first, with 200."""
    slots = await _slots(ctx, conversation_id, token, [_number(seq)])
    event = await slots.fill(0, body.kind, body.payload, actor=body.actor, idempotency_key=key)
    return document(event.envelope(), created(event))


@routes.post("/slots/{token}/{seq}/void", openapi_extra=described(Voiding))
async def void(
    ctx: Context, conversation_id: str, token: str, seq: str, body: Annotated[Voiding, body_of(Voiding)]
) -> Response:
    """Give a number back; the conversation records why it holds nothing."""
    slots = await _slots(ctx, conversation_id, token, [_number(seq)])
    await slots.void(0, reason=body.reason)
    return document({"seq": slots.seq(0), "voided": True})


@routes.post("/transients", status_code=202, openapi_extra=described(Chunk))
async def emit(ctx: Context, conversation_id: str, body: Annotated[Chunk, body_of(Chunk)]) -> Response:
    """Show something to whoever follows now; it gets no number and is kept nowhere."""
    talk = await ctx.conversation(conversation_id)
    said = await talk.emit(
        body.kind,
        body.payload,
        turn=body.turn,
        block_index=body.block_index,
        event_index=body.event_index,
    )
    return document(said.envelope(), 202)


async def _slots(ctx: WebContext, conversation_id: str, token: str, seqs: list[int] | tuple[()]) -> Slots:
    talk = await ctx.conversation(conversation_id)
    try:
        return talk.slots(UUID(token), seqs)
    except ValueError:
        raise UnknownEntity(
            f"{token!r} is no token of a reservation; use the one it was given with"
        ) from None


def _number(word: str) -> int:
    if not NUMBER.fullmatch(word):
        raise UnknownEntity(f"{word!r} is no number of a conversation")
    return int(word)
