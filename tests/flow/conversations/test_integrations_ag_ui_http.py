"""AG-UI over HTTP: the real client runs, is cut and reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from tests.cases import all_cases
from tests.flow.client.client import served
from tests.flow.javascript.node import run_node


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


async def answer(conversation: Conversation, turn: str) -> None:
    """Append one turn of an agent, chunk by chunk."""
    for index, text in enumerate(["Let ", "me ", "look."]):
        await conversation.emit("message_chunk", {"text": text}, turn=turn, block_index=0, event_index=index)
    place: dict[str, Any] = {"turn": turn}
    await conversation.append("agent_message_sent", {"content": "Let me look.", **place, "block_index": 0})
    tool = {"tool_use_id": f"use-{turn}", "tool_name": "clock"}
    await conversation.append("tool_use_requested", {**tool, "tool_args": {}, **place, "block_index": 1})
    result = {"tool_result": "noon", "success": True, "error_message": None}
    await conversation.append("tool_use_completed", {**tool, **result})
    for index, text in enumerate(["It is ", "noon."]):
        await conversation.emit("message_chunk", {"text": text}, turn=turn, block_index=2, event_index=index)
    ending = {**place, "block_index": 2, "stop_reason": "end_turn"}
    await conversation.append("agent_message_sent", {"content": "It is noon.", **ending})
    await conversation.emit("complete", {"stop_reason": "end_turn"}, turn=turn)


async def run_agent(conversation: Conversation) -> None:
    """Answer every user message, without HTTP."""
    async for item in conversation.follow():
        if item.kind == "user_message_sent":
            await answer(conversation, f"t{item.seq}")


def plain(messages: Any) -> list[tuple[str, str]]:
    """Return role and text of each message; a tool request is shown by its name."""
    return [
        (each["role"], each.get("content") or each["toolCalls"][0]["function"]["name"]) for each in messages
    ]


TURN = [("assistant", "Let me look."), ("assistant", "clock"), ("tool", "noon"), ("assistant", "It is noon.")]


async def test_the_real_client_runs_twice(app: App, client: httpx.AsyncClient) -> None:
    conversation = await app.conversations.open()
    agent = asyncio.create_task(run_agent(conversation))
    url = f"{client.base_url}/v1/conversations/{conversation.id}/ag-ui"
    first, second = await asyncio.to_thread(run_node, "run.mjs", ["what time?", "and now?"], url)
    agent.cancel()
    await asyncio.gather(agent, return_exceptions=True)
    assert plain(first) == [("user", "what time?"), *TURN]
    assert plain(second) == [("user", "what time?"), *TURN, ("user", "and now?"), *TURN]
    assert [each["id"] for each in second if each["role"] == "user"] == ["question-0", "question-1"]
    questions = [event for event in await conversation.events() if event.kind == "user_message_sent"]
    assert len(questions) == 2


async def read(
    client: httpx.AsyncClient, conversation: Conversation, frames: int, joined: asyncio.Event, query: str = ""
) -> str:
    """Return the first frames of a stream, or those of a whole run, then disconnect."""
    text = ""
    async with client.stream("GET", f"/v1/conversations/{conversation.id}/ag-ui{query}") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        async for piece in response.aiter_text():
            text += piece
            whole = [part for part in text.split("\n\n")[:-1] if "data: " in part]
            if len(whole) >= 4:
                joined.set()
            if len(whole) >= frames or "RUN_FINISHED" in text:
                break
    joined.set()
    return "".join(f"{part}\n\n" for part in whole[:frames])


async def test_a_real_stream_cut_at_every_frame(app: App, client: httpx.AsyncClient) -> None:
    chains = []
    for cut in range(1, 21):
        conversation, joined = await app.conversations.open(), asyncio.Event()
        await conversation.append("user_message_sent", {"content": "what time?"})
        async with asyncio.timeout(60):
            reading = asyncio.create_task(read(client, conversation, cut, joined))
            await joined.wait()
            await answer(conversation, "t")
            chains.append([await reading, await read(client, conversation, 99, joined)])
    for cut, found in enumerate(await asyncio.to_thread(run_node, "check.mjs", chains), 1):
        assert "error" not in found, (cut, found)
        assert plain(found["messages"]) == [("user", "what time?"), *TURN], cut


async def test_last_limits_the_snapshot(app: App, client: httpx.AsyncClient) -> None:
    """The snapshot begins with a user message; later events follow, also above an old open slot."""
    conversation = await app.conversations.open()
    slots = await conversation.reserve(1, ttl=60)
    for turn in range(30):
        await conversation.append("user_message_sent", {"content": f"question {turn}"})
        await answer(conversation, f"t{turn}")
    text = await read(client, conversation, 99, asyncio.Event(), "?last=12")
    assert len(text) < 20_000
    joined = asyncio.Event()
    await conversation.append("user_message_sent", {"content": "again?"})
    reading = asyncio.create_task(read(client, conversation, 99, joined, "?last=7"))
    async with asyncio.timeout(60):
        await joined.wait()
        await answer(conversation, "last")
        live = await reading
    done = await asyncio.to_thread(run_node, "check.mjs", [[text], [live]])
    wanted = [("user", "question 28"), *TURN, ("user", "question 29"), *TURN]
    assert plain(done[0]["messages"]) == wanted
    assert plain(done[1]["messages"]) == [*wanted[5:], ("user", "again?"), *TURN]
    await slots.void(0, reason="not needed")
    assert (await client.get(f"/v1/conversations/{conversation.id}/ag-ui?last=0")).status_code == 422


async def test_last_limits_the_snapshot_of_a_run_too(app: App, client: httpx.AsyncClient) -> None:
    """A client that posts a message gets no more of the past than it asks for."""
    conversation = await app.conversations.open()
    for turn in range(30):
        await conversation.append("user_message_sent", {"content": f"question {turn}"})
        await answer(conversation, f"t{turn}")
    agent = asyncio.create_task(answer_next(conversation))
    question = {"id": "q-1", "role": "user", "content": "and now?"}
    run = {"threadId": "t", "runId": "r", "state": {}, "messages": [question], "tools": [], "context": []}
    url = f"/v1/conversations/{conversation.id}/ag-ui"
    async with asyncio.timeout(60):
        text = (await client.post(f"{url}?last=7", json={**run, "forwardedProps": {}})).text
    await agent
    (done,) = await asyncio.to_thread(run_node, "check.mjs", [[text]])
    assert plain(done["messages"]) == [("user", "question 29"), *TURN, ("user", "and now?"), *TURN]
    assert (await client.post(f"{url}?last=0", json=run)).status_code == 422


async def answer_next(conversation: Conversation) -> None:
    """Answer the next user message."""
    head = (await conversation.state()).next_seq - 1
    async for item in conversation.follow(after=head):
        if item.kind == "user_message_sent":
            await asyncio.sleep(0.3)  # so that the run follows it
            await answer(conversation, "now")
            return


async def test_an_idle_stream_sends_heartbeats(app: App, open_app: Any) -> None:
    async with open_app(heartbeat_seconds=0.2) as quick, served(quick) as client:
        conversation = await quick.conversations.open()
        async with client.stream("GET", f"/v1/conversations/{conversation.id}/ag-ui") as response:
            text = ""
            async for piece in response.aiter_text():
                text += piece
                if ": beat" in text:
                    break
        assert "RUN_STARTED" in text


@all_cases("body", ["{}", "[]", '{"threadId": 1}', "not json"])
async def test_a_bad_run_is_a_problem_and_writes_nothing(
    app: App, client: httpx.AsyncClient, body: str
) -> None:
    conversation = await app.conversations.open()
    url = f"/v1/conversations/{conversation.id}/ag-ui"
    refused = await client.post(url, content=body, headers={"content-type": "application/json"})
    assert refused.status_code in {400, 422}
    assert refused.headers["content-type"] == "application/problem+json"
    assert await conversation.events() == []
