"""Write from many tasks at once, and reserve numbers before their events exist."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.slots import Slots
from foja.errors import SlotVoided
from foja.interfaces.cli.demo.story import Story, TailReader
from foja.interfaces.cli.services import in_background

TASKS, CONVERSATIONS, EACH = 64, 8, 25
TTL = 2.5


async def show_writing(story: Story, conversations: list[Conversation]) -> None:
    """Write from many tasks at once, then count the events."""
    story.chapter(f"{TASKS} tasks write to {CONVERSATIONS} conversations at once")
    began, total = time.monotonic(), TASKS * EACH
    await asyncio.gather(*(_write(number, conversations) for number in range(TASKS)))
    rate = total / (time.monotonic() - began)
    streams = [await conversation.events(limit=total) for conversation in conversations]
    complete = all([event.seq for event in stream] == list(range(len(stream))) for stream in streams)
    story.claim(f"{total:,} events are written, {rate:,.0f} per second", sum(map(len, streams)) == total)
    story.claim("the numbers of every conversation are 0, 1, 2, … without a gap or a duplicate", complete)
    repeated = await conversations[0].append("user_message_sent", {"content": "0/0"}, idempotency_key="0/0")
    story.claim("a message sent again with the same key is not written again", repeated.seq < len(streams[0]))


async def show_slots(story: Story, app: App, conversation: Conversation, reader: TailReader) -> None:
    """Reserve three numbers, fill two out of order, let one expire; a follower reads live."""
    story.chapter("Three tools reserve numbers; two finish, in reverse order, and one never finishes")
    async with in_background(app.work()):
        slots = await conversation.reserve(3, ttl=TTL, intents=["search", "slow search", "search"])
        for ordinal in (2, 0):
            await slots.fill(ordinal, "tool_use_completed", _tool_result(ordinal))
        await conversation.append("agent_message_sent", {"content": "One tool is still running."})
        first, hole, third = slots.seqs
        events = {event.seq: event for event in await conversation.events(after=first - 1)}
        story.claim(f"{third} was filled, then {first}; {hole} reads as an open slot", events[hole].open)
        await _show_expiry(story, conversation, slots, reader)


async def _show_expiry(story: Story, conversation: Conversation, slots: Slots, reader: TailReader) -> None:
    hole = slots.seqs[1]
    complete = await reader.wait_for(hole + 3)
    stored = [(event.seq, event.kind) for event in await conversation.events(limit=hole + 10)]
    story.claim(f"after {TTL} seconds number {hole} is slot.voided", (hole, "slot.voided") in stored)
    story.claim("a later fill of it is refused", await _is_refused(slots))
    same = complete and reader.kinds() == stored and hole in reader.placeholders
    story.claim(f"a live follower saw the open slot and has the same {len(stored)} events at the end", same)


async def _write(number: int, conversations: list[Conversation]) -> None:
    for turn in range(EACH):
        text, conversation = f"{number}/{turn}", conversations[(number + turn) % len(conversations)]
        await conversation.append("user_message_sent", {"content": text}, idempotency_key=text)


async def _is_refused(slots: Slots) -> bool:
    try:
        await slots.fill(1, "tool_use_completed", _tool_result(1))
    except SlotVoided:
        return True
    return False


def _tool_result(ordinal: int) -> dict[str, Any]:
    result = {"tool_result": "found", "success": True, "error_message": None}
    return {"tool_use_id": f"t{ordinal}", "tool_name": "search", **result}
