"""A stream of Anthropic's Messages API, written into a conversation while it comes.

    pip install 'foja[anthropic]'
    python examples/anthropic_stream.py

The stream is written out below, so no key and no network are needed. In your own program it is
`client.messages.create(..., stream=True)`, and everything else stays as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import foja
from foja.conversations.service import Conversation
from foja.integrations.anthropic import messages, record

ASKS: list[dict[str, Any]] = [
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
    """Stream as a model does, a little at a time."""
    for event in events:
        await asyncio.sleep(0.01)
        yield event


async def watch(talk: Conversation) -> None:
    """Print what a follower sees: chunks that pass, events that stay."""
    async for item in talk.follow():
        shown = item.payload.get("text", "") if item.payload else ""
        print(f"   {'·' if item.seq is None else item.seq:>3}  {item.kind:20} {shown}")


async def main() -> None:
    """Record a message that asks for two tools, answer them in the wrong order, show the next request."""
    async with foja.connect() as app:
        talk = await app.conversations.open()
        watching = asyncio.create_task(watch(talk))
        await talk.append("user_message_sent", {"content": "What is the weather in Lima and Oslo?"})

        heard = await record(talk, stand_in(ASKS), turn="turn-1")
        await heard.complete("toolu_Oslo", "snow, -3 °C")  # the second tool was faster
        await heard.complete("toolu_Lima", "rain, 14 °C")
        await asyncio.sleep(0.5)
        watching.cancel()

        print("\nthe next request carries, in the order asked:")
        for message in messages(await talk.events()):
            kinds = [block["type"] for block in message["content"]]
            print(f"   {message['role']:10} {kinds}")

        try:  # a stream that breaks in the middle
            await record(talk, stand_in(ASKS[:3]), turn="turn-2")
        except foja.errors.StreamBroken as error:
            last = (await talk.events())[-1]
            print(f"\n{error}\nevent {last.seq}, {last.kind}: {last.payload['reason']}")


if __name__ == "__main__":
    asyncio.run(main())
