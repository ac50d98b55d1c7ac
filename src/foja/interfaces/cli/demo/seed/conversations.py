"""Conversations: parallel tools, decided and open approvals, a voided number, one that is protected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.domains.conversations.tools import ToolUse

ACTOR = "demo"
WEEK = 7 * 86_400.0
DELIVERY = UUID("0de00000-0000-4000-8000-000000000001")
REFUND = UUID("0de00000-0000-4000-8000-000000000002")
TRIP = UUID("0de00000-0000-4000-8000-000000000003")
PAUSED = UUID("0de00000-0000-4000-8000-000000000004")
Write = Callable[[Conversation], Awaitable[None]]


async def seed_conversations(app: App) -> int:
    """Write each conversation that has no event yet, and return how many."""
    new = 0
    stories: dict[UUID, Write] = {DELIVERY: _delivery, REFUND: _refund, TRIP: _trip, PAUSED: _paused}
    for conversation_id, write in stories.items():
        conversation = await app.conversations.open(conversation_id)
        if not await conversation.events(limit=1):
            await write(conversation)
            new += 1
            if conversation_id == DELIVERY:
                await app.publish()  # what is protected must be sealed
                await app.conversations.protect(DELIVERY, ["tsa"])
    return new


async def _delivery(conversation: Conversation) -> None:
    """Three tools at once that end in another order than they were asked."""
    await _say(
        conversation, "user_message_sent", "Where is my parcel 4711, and can it come on Friday?", "customer"
    )
    await _say(conversation, "thinking", "I need the state of the parcel, the calendar and the address.")
    calls = [
        {"tool_name": "parcel_state", "tool_args": {"parcel": "4711"}},
        {"tool_name": "delivery_days", "tool_args": {"week": 47}},
        {"tool_name": "address", "tool_args": {"customer": "C-88"}},
    ]
    async with conversation.tools(calls, turn="1", actor=ACTOR) as (state, days, address):
        await address.complete({"street": "12 Harbour Street", "city": "Vigo"})
        await days.complete(["Thursday", "Friday"])
        await state.complete({"place": "depot Vigo", "since": "2026-11-16T18:20:00Z"})
    await _say(
        conversation,
        "agent_message_sent",
        "It is in the depot in Vigo, and Friday is possible. Shall I book it?",
    )
    await _say(conversation, "user_message_sent", "Yes, please.", "customer")
    await _say(conversation, "agent_message_sent", "Booked: Friday, 12 Harbour Street.")


async def _refund(conversation: Conversation) -> None:
    """One approval that was granted, one that was denied, one that waits for a person."""
    await _say(conversation, "user_message_sent", "Two chairs are broken. I want my money back.", "customer")
    await _ask(conversation, "refund-1", {"order": "4711", "euros": 190})
    await conversation.decide("refund-1", "approved", reason="two of forty chairs", actor="supervisor")
    await _answer(
        conversation, {"tool_name": "refund", "tool_args": {"order": "4711", "euros": 190}}, {"paid": True}
    )
    await _say(conversation, "user_message_sent", "And the shipping of the whole order?", "customer")
    await _ask(conversation, "refund-2", {"order": "4711", "euros": 240})
    await conversation.decide(
        "refund-2", "denied", reason="the other chairs were delivered", actor="supervisor"
    )
    await _say(conversation, "agent_message_sent", "The shipping is not refunded, but I can offer a voucher.")
    await _ask(conversation, "voucher-3", {"order": "4711", "euros": 25})


async def _trip(conversation: Conversation) -> None:
    """Two tools, of which one fails and one never answers: its number is voided, and no gap is left."""
    await _say(conversation, "user_message_sent", "¿Qué tren sale mañana a Lugo?", "cliente")
    calls = [
        {"tool_name": "trains", "tool_args": {"to": "Lugo"}},
        {"tool_name": "weather", "tool_args": {"place": "Lugo"}},
        {"tool_name": "prices", "tool_args": {"to": "Lugo"}},
    ]
    async with conversation.tools(calls, turn="1", actor=ACTOR) as (trains, weather, _prices):
        await trains.complete({"departs": "08:15", "arrives": "10:40"})
        await weather.fail("the weather service did not answer")
    await _say(conversation, "agent_message_sent", "Sale uno a las 8:15. El precio no se pudo consultar.")
    slots = await conversation.reserve(2, ttl=60, intents=["seat", "ticket"])
    await slots.fill(0, "agent_message_sent", {"content": "He reservado el asiento 21."}, actor=ACTOR)
    await slots.void(1, reason="the customer left")


async def _paused(conversation: Conversation) -> None:
    """A turn that stopped because something needs a person."""
    await _say(conversation, "user_message_sent", "Delete all my data.", "customer")
    await _say(conversation, "thinking", "This cannot be undone, so a person has to look at it.")
    await _ask(conversation, "erase-1", {"customer": "C-88"})
    await conversation.append("turn_paused", {"reason": "waits for an approval"}, actor=ACTOR)


async def _say(conversation: Conversation, kind: str, text: str, actor: str = ACTOR) -> None:
    await conversation.append(kind, {"content": text}, actor=actor)


async def _ask(conversation: Conversation, approval_id: str, arguments: dict[str, Any]) -> None:
    name = approval_id.partition("-")[0]
    await conversation.request_approval(name, arguments, ttl=WEEK, approval_id=approval_id, actor=ACTOR)


async def _answer(conversation: Conversation, call: dict[str, Any], result: object) -> None:
    use: ToolUse
    async with conversation.tools([call], actor=ACTOR) as (use,):
        await use.complete(result)
