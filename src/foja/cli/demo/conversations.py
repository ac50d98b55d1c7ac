"""Many writers at once, and numbers that are promised before the events exist."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from foja.app import App
from foja.cli.demo.story import Story, TailReader, end
from foja.conversations.service import Conversation
from foja.errors import SlotVoided
from foja.ledger.slots import Slots

TASKS, TALKS, EACH = 64, 8, 25
TTL = 2.5


async def show_writing(story: Story, talks: list[Conversation]) -> None:
    """Write from many tasks at once, and count."""
    story.chapter(f"{TASKS} tasks write to {TALKS} conversations at once")
    began, total = time.monotonic(), TASKS * EACH
    await asyncio.gather(*(_write(number, talks) for number in range(TASKS)))
    rate = total / (time.monotonic() - began)
    streams = [await talk.events(limit=total) for talk in talks]
    whole = all([event.seq for event in stream] == list(range(len(stream))) for stream in streams)
    story.claim(f"{total:,} events are written, {rate:,.0f} a second", sum(map(len, streams)) == total)
    story.claim("every conversation counts 0, 1, 2, … without a gap or a duplicate", whole)
    again = await talks[0].append("user_message_sent", {"content": "0/0"}, idempotency_key="0/0")
    story.claim("a message sent again under its key is not written again", again.seq < len(streams[0]))


async def show_slots(story: Story, app: App, talk: Conversation, reader: TailReader) -> None:
    """Reserve three numbers, fill two out of order, let one expire, all read live."""
    story.chapter("Three tools reserve their places; two finish, in the wrong order, one never does")
    work = asyncio.create_task(app.work())
    slots = await talk.reserve(3, ttl=TTL, intents=["search", "slow search", "search"])
    for ordinal in (2, 0):
        await slots.fill(ordinal, "tool_use_completed", _answer(ordinal))
    await talk.append("agent_message_sent", {"content": "One tool is still running."})
    first, hole, third = slots.seqs
    now = {event.seq: event for event in await talk.events(after=first - 1)}
    story.claim(f"{third} was filled, then {first}; {hole} reads as an open slot", now[hole].open)
    await _show_expiry(story, talk, slots, reader)
    await end(work)


async def _show_expiry(story: Story, talk: Conversation, slots: Slots, reader: TailReader) -> None:
    hole = slots.seqs[1]
    whole = await reader.sees(hole + 3)
    stored = [(event.seq, event.kind) for event in await talk.events(limit=hole + 10)]
    story.claim(f"after {TTL} seconds number {hole} became an event itself", (hole, "slot.voided") in stored)
    story.claim("coming back after that is refused", await _is_refused(slots))
    same = whole and reader.kinds() == stored and hole in reader.placeholders
    story.claim(f"a live follower saw the placeholder and ended with the same {len(stored)} events", same)


async def _write(number: int, talks: list[Conversation]) -> None:
    for turn in range(EACH):
        words, talk = f"{number}/{turn}", talks[(number + turn) % len(talks)]
        await talk.append("user_message_sent", {"content": words}, idempotency_key=words)


async def _is_refused(slots: Slots) -> bool:
    try:
        await slots.fill(1, "tool_use_completed", _answer(1))
    except SlotVoided:
        return True
    return False


def _answer(ordinal: int) -> dict[str, Any]:
    result = {"tool_result": "found", "success": True, "error_message": None}
    return {"tool_use_id": f"t{ordinal}", "tool_name": "search", **result}
