"""HTTP routes of slots and of transient events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Response

from foja.conversations.service import Conversation
from foja.errors import UnknownEntity
from foja.ledger.reader import NUMBER
from foja.ledger.slots import Slots
from foja.web.bodies import Chunk, Extension, NewEvent, Reservation, Voiding, body_of, describe_body
from foja.web.caller import Writer
from foja.web.conversations.address import WrittenConversation
from foja.web.reference.answers.conversations import Deadline, ReservedSlots, VoidedSlot
from foja.web.reference.answers.events import TransientAnswer
from foja.web.reference.openapi import again, event_route
from foja.web.routers import api_router
from foja.web.streams.appends import Key, check_key, check_kind, event_answer, keyed
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/conversations/{conversation_id}", "slots")


@routes.post(
    "/slots",
    status_code=201,
    response_model=ReservedSlots,
    responses=again(ReservedSlots),
    openapi_extra=describe_body(Reservation),
)
async def reserve(
    caller: Writer,
    body: Annotated[Reservation, body_of(Reservation)],
    conversation: WrittenConversation,
    key: Key = None,
) -> Response:
    """Reserve the next numbers, to be filled in any order before the deadline."""
    request, asked = keyed(caller, key, f"/v1/conversations/{conversation.id}/slots"), dict(body)
    if found := await request.found(asked):
        return _reserved(found, 200)
    slots = await conversation.reserve(**asked)
    made = (str(slots.token), slots.deadline.isoformat(), *map(str, slots.seqs))
    if first := await request.note(asked, *made):
        for ordinal in range(len(slots.seqs)):
            await slots.void(ordinal, reason="an equal request was first", actor=caller.principal.actor)
        return _reserved(first, 200)
    return _reserved(made, 201)


@routes.post("/slots/{token}/extend", response_model=Deadline, openapi_extra=describe_body(Extension))
async def extend(
    body: Annotated[Extension, body_of(Extension)], conversation: WrittenConversation, token: str
) -> Response:
    """Extend the deadline of the slots that are still open."""
    deadline = await _slots(conversation, token).extend(body.ttl)
    return JsonAnswer({"deadline": deadline.isoformat()})


@routes.post("/slots/{token}/{seq}", **event_route(NewEvent))
async def fill(
    caller: Writer,
    body: Annotated[NewEvent, body_of(NewEvent)],
    conversation: WrittenConversation,
    token: str,
    seq: str,
    key: Key = None,
) -> Response:
    """Fill a slot with its event. The same event again returns the first, with 200."""
    check_key(key)
    check_kind(conversation, body.kind, caller)
    slots = _slots(conversation, token, seq)
    event = await slots.fill(0, **caller.signed(body), idempotency_key=key)
    return event_answer(event)


@routes.post("/slots/{token}/{seq}/void", response_model=VoidedSlot, openapi_extra=describe_body(Voiding))
async def void(
    caller: Writer,
    body: Annotated[Voiding, body_of(Voiding)],
    conversation: WrittenConversation,
    token: str,
    seq: str,
) -> Response:
    """Void a slot; the conversation records the reason."""
    slots = _slots(conversation, token, seq)
    await slots.void(0, reason=body.reason, actor=caller.principal.actor)
    return JsonAnswer({"seq": slots.seq(0), "voided": True})


@routes.post(
    "/transients", status_code=202, response_model=TransientAnswer, openapi_extra=describe_body(Chunk)
)
async def emit(body: Annotated[Chunk, body_of(Chunk)], conversation: WrittenConversation) -> Response:
    """Send a transient event to the current followers; it is not numbered and not stored."""
    return JsonAnswer((await conversation.emit(**dict(body))).envelope(), 202)


def _reserved(made: Sequence[str], status: int) -> Response:
    token, deadline, *seqs = made
    return JsonAnswer({"token": token, "seqs": [*map(int, seqs)], "deadline": deadline}, status)


def _slots(conversation: Conversation, token: str, seq: str | None = None) -> Slots:
    """Return a reservation with one of its numbers, or with none."""
    if seq is not None and not NUMBER.fullmatch(seq):
        raise UnknownEntity(f"not a valid sequence number: {seq!r}; use a number of the reservation")
    try:
        return conversation.slots(UUID(token), [] if seq is None else [int(seq)])
    except ValueError:
        raise UnknownEntity(
            f"not a valid reservation token: {token!r}; use the token that the reservation returned"
        ) from None
