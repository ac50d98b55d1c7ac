"""Records a stream of Anthropic's Messages API in a conversation while it arrives.

    pip install 'foja[anthropic]'
    python examples/anthropic_stream.py

The stream is written out below, so no key and no network are needed. In your own program use
`client.messages.create(..., stream=True)`; everything else stays the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import foja
from foja.domains.conversations.service import Conversation
from foja.integrations.anthropic import messages, record

STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "msg_1", "model": "stand-in", "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}},
    {"type": "content_block_stop", "index": 0},
    *(
        each
        for index, city in enumerate(["Lima", "Oslo"], 1)
        for each in (
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": "tool_use", "id": f"toolu_{city}", "name": "weather", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": f'{{"city":"{city}"}}'},
            },
            {"type": "content_block_stop", "index": index},
        )
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 31}},
    {"type": "message_stop"},
]


async def stand_in(events: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Yield the events one at a time, as a model does."""
    for event in events:
        await asyncio.sleep(0.01)
        yield event


async def watch(conversation: Conversation) -> None:
    """Print what a follower gets: transient chunks and persisted events."""
    async for item in conversation.follow():
        shown = item.payload.get("text", "") if item.payload else ""
        print(f"   {'·' if item.seq is None else item.seq:>3}  {item.kind:20} {shown}")


async def main() -> None:
    """Record a message with two tool uses, complete them out of order, show the next request."""
    async with foja.connect() as app:
        conversation = await app.conversations.open()
        watching = asyncio.create_task(watch(conversation))
        await conversation.append("user_message_sent", {"content": "What is the weather in Lima and Oslo?"})

        message = await record(conversation, stand_in(STREAM), turn="turn-1")
        await message.complete("toolu_Oslo", "snow, -3 °C")  # the second tool was faster
        await message.complete("toolu_Lima", "rain, 14 °C")
        await asyncio.sleep(0.5)
        watching.cancel()

        print("\nthe next request has the results in the order of the requests:")
        for turn in messages(await conversation.events()):
            kinds = [block["type"] for block in turn["content"]]
            print(f"   {turn['role']:10} {kinds}")

        try:  # a stream that breaks in the middle
            await record(conversation, stand_in(STREAM[:3]), turn="turn-2")
        except foja.errors.StreamBroken as error:
            last = (await conversation.events())[-1]
            print(f"\n{error}\nevent {last.seq}, {last.kind}: {last.payload['reason']}")


if __name__ == "__main__":
    asyncio.run(main())
