"""A conversation over HTTP for AG-UI clients such as CopilotKit.

    pip install 'foja[ag-ui]'
    python examples/ag_ui_server.py             # a server, an agent and a client; ends by itself
    python examples/ag_ui_server.py --serve     # only the server and the agent, until Ctrl-C

The agent is a stand-in that needs no network. It does not use HTTP: it follows the
conversation and appends to it, and could also run in another process.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx

import foja
from foja.domains.conversations.service import Conversation
from foja.interfaces.web.server import address, bind, serving


async def run_agent(conversation: Conversation) -> None:
    """Answer every user message: transient chunks first, then the persisted event."""
    async for item in conversation.follow():
        if item.kind != "user_message_sent":
            continue
        turn = f"turn-{item.seq}"
        await asyncio.sleep(0.3)  # the latency of a model
        tool = {"tool_use_id": f"clock-{item.seq}", "tool_name": "clock"}
        await conversation.append(
            "tool_use_requested", {**tool, "tool_args": {}, "turn": turn, "block_index": 0}
        )
        result = {"tool_result": "12:00", "success": True, "error_message": None}
        await conversation.append("tool_use_completed", {**tool, **result})
        for index, text in enumerate(["It is ", "noon, ", "exactly."]):
            await conversation.emit(
                "message_chunk", {"text": text}, turn=turn, block_index=1, event_index=index
            )
            await asyncio.sleep(0.1)
        ending = {"turn": turn, "block_index": 1, "stop_reason": "end_turn"}
        await conversation.append("agent_message_sent", {"content": "It is noon, exactly.", **ending})


async def ask(url: str, question: str) -> None:
    """Act as an AG-UI client: post a run, print the events of its stream."""
    message = {"id": "question-1", "role": "user", "content": question}
    run = {"threadId": "t", "runId": "r", "state": {}, "messages": [message], "tools": [], "context": []}
    async with (
        httpx.AsyncClient(timeout=30, trust_env=False) as client,
        client.stream("POST", url, json={**run, "forwardedProps": {}}) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                _show(json.loads(line.removeprefix("data: ")))


def _show(event: dict[str, Any]) -> None:
    text = event.get("delta") or event.get("content") or event.get("toolCallName") or ""
    if event["type"] == "MESSAGES_SNAPSHOT":
        text = f"{len(event['messages'])} messages"
    print(f"   {event['type']:22} {text if isinstance(text, str) else ''}")


async def main() -> None:
    """Serve one conversation and run an agent for it."""
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with foja.connect() as app, serving(app, listener) as server:
            conversation = await app.conversations.open()
            url = f"{address(listener)}/v1/conversations/{conversation.id}/ag-ui"
            print(f"an AG-UI agent listens on {url}\n")
            agent = asyncio.create_task(run_agent(conversation))
            if "--serve" in sys.argv:
                await server
            await ask(url, "What time is it?")
            print("\njoined again after the run: one snapshot has every message")
            await ask(url, "What time is it?")  # the same message id: it is not appended twice
            agent.cancel()


if __name__ == "__main__":
    asyncio.run(main())
