"""A conversation behind HTTP, as AG-UI clients such as CopilotKit read it.

    pip install 'foja[ag-ui]'
    python examples/ag_ui_server.py             # a server, an agent and a client, then it ends
    python examples/ag_ui_server.py --serve     # only the server and the agent, until Ctrl-C

The agent is a stand-in that needs no network. It knows nothing of HTTP: it follows the
conversation and appends to it, and could as well live in another process.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx

import foja
from foja.conversations.service import Conversation
from foja.web.server import address, bind, serving


async def be_an_agent(talk: Conversation) -> None:
    """Answer every question: chunks that pass while it speaks, events that stay."""
    async for item in talk.follow():
        if item.kind != "user_message_sent":
            continue
        turn = f"turn-{item.seq}"
        await asyncio.sleep(0.3)  # a model takes its time
        asked = {"tool_use_id": f"clock-{item.seq}", "tool_name": "clock"}
        await talk.append("tool_use_requested", {**asked, "tool_args": {}, "turn": turn, "block_index": 0})
        told = {"tool_result": "12:00", "success": True, "error_message": None}
        await talk.append("tool_use_completed", {**asked, **told})
        for index, text in enumerate(["It is ", "noon, ", "exactly."]):
            await talk.emit("message_chunk", {"text": text}, turn=turn, block_index=1, event_index=index)
            await asyncio.sleep(0.1)
        ending = {"turn": turn, "block_index": 1, "stop_reason": "end_turn"}
        await talk.append("agent_message_sent", {"content": "It is noon, exactly.", **ending})


async def ask(url: str, question: str) -> None:
    """Do what an AG-UI client does: post a run, print the events of its stream."""
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
    said = event.get("delta") or event.get("content") or event.get("toolCallName") or ""
    if event["type"] == "MESSAGES_SNAPSHOT":
        said = f"{len(event['messages'])} messages"
    print(f"   {event['type']:22} {said if isinstance(said, str) else ''}")


async def main() -> None:
    """Serve one conversation, with an agent beside it."""
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with foja.connect() as app, serving(app, listener) as server:
            talk = await app.conversations.open()
            url = f"{address(listener)}/v1/conversations/{talk.id}/ag-ui"
            print(f"an AG-UI agent listens on {url}\n")
            agent = asyncio.create_task(be_an_agent(talk))
            if "--serve" in sys.argv:
                await server
            await ask(url, "What time is it?")
            print("\njoined again after the run: one snapshot says it all")
            await ask(url, "What time is it?")  # the same message id: it is not said twice
            agent.cancel()


if __name__ == "__main__":
    asyncio.run(main())
