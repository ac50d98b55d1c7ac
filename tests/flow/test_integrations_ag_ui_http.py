"""AG-UI over our real HTTP door: the real client asks, is cut, and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from foja.app import App
from foja.conversations.service import Conversation
from tests.flow.client import served
from tests.flow.node import run_node


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


async def answer(talk: Conversation, turn: str) -> None:
    """Do what an agent does in one turn, chunk by chunk."""
    for index, text in enumerate(["Let ", "me ", "look."]):
        await talk.emit("message_chunk", {"text": text}, turn=turn, block_index=0, event_index=index)
    place: dict[str, Any] = {"turn": turn}
    await talk.append("agent_message_sent", {"content": "Let me look.", **place, "block_index": 0})
    asked = {"tool_use_id": f"use-{turn}", "tool_name": "clock"}
    await talk.append("tool_use_requested", {**asked, "tool_args": {}, **place, "block_index": 1})
    told = {"tool_result": "noon", "success": True, "error_message": None}
    await talk.append("tool_use_completed", {**asked, **told})
    for index, text in enumerate(["It is ", "noon."]):
        await talk.emit("message_chunk", {"text": text}, turn=turn, block_index=2, event_index=index)
    ending = {**place, "block_index": 2, "stop_reason": "end_turn"}
    await talk.append("agent_message_sent", {"content": "It is noon.", **ending})
    await talk.emit("complete", {"stop_reason": "end_turn"}, turn=turn)


async def be_an_agent(talk: Conversation) -> None:
    """Answer every question, in another place than the door."""
    async for item in talk.follow():
        if item.kind == "user_message_sent":
            await answer(talk, f"t{item.seq}")


def plain(messages: Any) -> list[tuple[str, str]]:
    """Return who said what, a tool that was asked for by its name."""
    return [
        (each["role"], each.get("content") or each["toolCalls"][0]["function"]["name"]) for each in messages
    ]


TURN = [("assistant", "Let me look."), ("assistant", "clock"), ("tool", "noon"), ("assistant", "It is noon.")]


async def test_the_real_agent_asks_twice(app: App, client: httpx.AsyncClient) -> None:
    talk = await app.conversations.open()
    agent = asyncio.create_task(be_an_agent(talk))
    url = f"{client.base_url}/v1/conversations/{talk.id}/ag-ui"
    first, second = await asyncio.to_thread(run_node, "run.mjs", ["what time?", "and now?"], url)
    agent.cancel()
    await asyncio.gather(agent, return_exceptions=True)
    assert plain(first) == [("user", "what time?"), *TURN]
    assert plain(second) == [("user", "what time?"), *TURN, ("user", "and now?"), *TURN]
    assert [each["id"] for each in second if each["role"] == "user"] == ["question-0", "question-1"]
    questions = [event for event in await talk.events() if event.kind == "user_message_sent"]
    assert len(questions) == 2


async def read(
    client: httpx.AsyncClient, talk: Conversation, frames: int, joined: asyncio.Event, words: str = ""
) -> str:
    """Return so many frames of a stream, or all of a run, then hang up."""
    text = ""
    async with client.stream("GET", f"/v1/conversations/{talk.id}/ag-ui{words}") as response:
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
        talk, joined = await app.conversations.open(), asyncio.Event()
        await talk.append("user_message_sent", {"content": "what time?"})
        async with asyncio.timeout(60):
            reading = asyncio.create_task(read(client, talk, cut, joined))
            await joined.wait()
            await answer(talk, "t")
            chains.append([await reading, await read(client, talk, 99, joined)])
    for cut, found in enumerate(await asyncio.to_thread(run_node, "check.mjs", chains), 1):
        assert "error" not in found, (cut, found)
        assert plain(found["messages"]) == [("user", "what time?"), *TURN], cut


async def test_a_snapshot_reaches_as_far_back_as_it_is_asked_to(app: App, client: httpx.AsyncClient) -> None:
    """It begins with a question; what comes later comes, below an old open slot too."""
    talk = await app.conversations.open()
    slots = await talk.reserve(1, ttl=60)
    for turn in range(30):
        await talk.append("user_message_sent", {"content": f"question {turn}"})
        await answer(talk, f"t{turn}")
    text = await read(client, talk, 99, asyncio.Event(), "?last=12")
    assert len(text) < 20_000
    joined = asyncio.Event()
    await talk.append("user_message_sent", {"content": "again?"})
    reading = asyncio.create_task(read(client, talk, 99, joined, "?last=7"))
    async with asyncio.timeout(60):
        await joined.wait()
        await answer(talk, "last")
        live = await reading
    done = await asyncio.to_thread(run_node, "check.mjs", [[text], [live]])
    wanted = [("user", "question 28"), *TURN, ("user", "question 29"), *TURN]
    assert plain(done[0]["messages"]) == wanted
    assert plain(done[1]["messages"]) == [*wanted[5:], ("user", "again?"), *TURN]
    await slots.void(0, reason="not needed")
    assert (await client.get(f"/v1/conversations/{talk.id}/ag-ui?last=0")).status_code == 422


async def test_a_stream_that_has_nothing_to_say_beats(app: App, open_app: Any) -> None:
    async with open_app(heartbeat_seconds=0.2) as quick, served(quick) as client:
        talk = await quick.conversations.open()
        async with client.stream("GET", f"/v1/conversations/{talk.id}/ag-ui") as response:
            text = ""
            async for piece in response.aiter_text():
                text += piece
                if ": beat" in text:
                    break
        assert "RUN_STARTED" in text


@pytest.mark.parametrize("body", ["{}", "[]", '{"threadId": 1}', "not json"])
async def test_a_bad_run_is_a_problem_and_writes_nothing(
    app: App, client: httpx.AsyncClient, body: str
) -> None:
    talk = await app.conversations.open()
    url = f"/v1/conversations/{talk.id}/ag-ui"
    refused = await client.post(url, content=body, headers={"content-type": "application/json"})
    assert refused.status_code in {400, 422}
    assert refused.headers["content-type"] == "application/problem+json"
    assert await talk.events() == []
