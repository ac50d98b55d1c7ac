"""The view over the real ledger: followers from any moment on end in the view of a fresh load."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from foja.app import App
from foja.conversations import ConversationView
from foja.conversations.service import Conversation
from tests.database.rows import outcome

LAST = "that is all"


async def say(talk: Conversation, chance: random.Random, turn: str) -> None:
    block = chance.randint(0, 3)
    for n in range(chance.randint(0, 3)):
        await talk.emit("message_chunk", {"text": turn}, turn=turn, block_index=block, event_index=n)
    await talk.append("agent_message_sent", {"content": turn, "turn": turn, "block_index": block})
    await talk.emit("message_chunk", {"text": "cut off"}, turn=turn, block_index=block + 1, event_index=0)
    await talk.emit("complete", {}, turn=turn)


async def use_tools(talk: Conversation, chance: random.Random, turn: str) -> None:
    calls = [{"tool_name": "search", "tool_args": {"n": n}} for n in range(chance.randint(1, 3))]
    async with talk.tools(calls, turn=turn) as tools:
        for use in chance.sample(list(tools), len(tools)):
            match chance.choice(["complete", "fail", "deny", "leave"]):
                case "complete":
                    await use.complete(turn)
                case "fail":
                    await use.fail("it broke")
                case "deny":
                    await use.deny("no")


async def ask(talk: Conversation, chance: random.Random, turn: str) -> None:
    asked = await talk.request_approval("pay", {}, ttl=chance.choice([0.001, 600]), turn=turn)
    if chance.random() < 0.7:
        await talk.decide(asked.id, chance.choice(["approved", "denied"]))


async def forget(talk: Conversation, chance: random.Random, turn: str) -> None:
    events = await talk.events()
    if events:
        await outcome(talk.erase(chance.choice(events).seq, reason="asked for"))


async def write(talk: Conversation, chance: random.Random, name: str) -> None:
    for n in range(6):
        await chance.choice([say, say, use_tools, ask, forget])(talk, chance, f"{name}{n}")


async def watch(talk: Conversation, after: int | None, view: ConversationView) -> ConversationView:
    """Follow until the last word was heard, nothing is open below it and nothing in passing."""
    async for heard in talk.follow(after=after):
        view = view.add(heard)
        items = view.items()
        if not view.settled:
            continue
        if [item["seq"] for item in items] != list(range(len(items))) or any(
            i["state"] == "open" for i in items
        ):
            continue
        if any((item["payload"] or {}).get("content") == LAST for item in items):
            return view
    raise AssertionError("a follower never ends")


@pytest.mark.parametrize("seed", range(3))
async def test_live_is_reloaded_for_followers_from_any_moment_on(
    open_app: Callable[..., App], seed: int
) -> None:
    async with open_app() as writer, open_app() as reader:
        talk = await writer.conversations.open()
        read = await reader.conversations.open(talk.id)
        watchers = [asyncio.ensure_future(watch(read, None, ConversationView()))]
        for n in range(3):
            await asyncio.gather(*[write(talk, random.Random(f"{seed}{n}{k}"), f"{n}{k}.") for k in range(3)])
            await writer.work(until_idle=True)
            known = await read.events()
            watchers.append(asyncio.ensure_future(watch(read, known[-1].seq, ConversationView(known))))
        await talk.append("user_message_sent", {"content": LAST})
        loaded = ConversationView(await read.events()).items()
        async with asyncio.timeout(60):
            while not all(each.done() for each in watchers):
                await talk.emit("session_end", {})  # what is in passing may be lost, its end too
                await asyncio.wait(watchers, timeout=0.2)
        assert [each.result().items() for each in watchers] == [loaded] * len(watchers)
        assert [item["seq"] for item in loaded] == list(range(len(loaded)))
