"""The view over the real ledger: a follower from any point on ends with the view of a reload."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable

import pytest

from foja.app import App
from foja.domains.conversations import ConversationView
from foja.domains.conversations.service import Conversation
from foja.errors import UnknownApproval
from tests.database.schema.rows import outcome

LAST = "that is all"


async def say(conversation: Conversation, chance: random.Random, turn: str) -> None:
    block = chance.randint(0, 3)
    for n in range(chance.randint(0, 3)):
        await conversation.emit("message_chunk", {"text": turn}, turn=turn, block_index=block, event_index=n)
    await conversation.append("agent_message_sent", {"content": turn, "turn": turn, "block_index": block})
    await conversation.emit(
        "message_chunk", {"text": "cut off"}, turn=turn, block_index=block + 1, event_index=0
    )
    await conversation.emit("complete", {}, turn=turn)


async def use_tools(conversation: Conversation, chance: random.Random, turn: str) -> None:
    calls = [{"tool_name": "search", "tool_args": {"n": n}} for n in range(chance.randint(1, 3))]
    async with conversation.tools(calls, turn=turn) as tools:
        for use in chance.sample(list(tools), len(tools)):
            match chance.choice(["complete", "fail", "deny", "leave"]):
                case "complete":
                    await use.complete(turn)
                case "fail":
                    await use.fail("it broke")
                case "deny":
                    await use.deny("no")


async def approve(conversation: Conversation, chance: random.Random, turn: str) -> None:
    requested = await conversation.request_approval("pay", {}, ttl=chance.choice([0.001, 600]), turn=turn)
    if chance.random() < 0.7:
        decided = conversation.decide(requested.id, chance.choice(["approved", "denied"]))
        with contextlib.suppress(UnknownApproval):  # its request was erased meanwhile
            await decided


async def erase(conversation: Conversation, chance: random.Random, turn: str) -> None:
    events = await conversation.events()
    if events:
        await outcome(conversation.erase(chance.choice(events).seq, reason="asked for"))


async def write(conversation: Conversation, chance: random.Random, name: str) -> None:
    for n in range(6):
        await chance.choice([say, say, use_tools, approve, erase])(conversation, chance, f"{name}{n}")


async def watch(conversation: Conversation, after: int | None, view: ConversationView) -> ConversationView:
    """Follow until the last event is shown, no slot is open and no transient event is left."""
    async for item in conversation.follow(after=after):
        view = view.add(item)
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
async def test_a_follower_from_any_point_on_ends_with_the_reloaded_view(
    open_app: Callable[..., App], seed: int
) -> None:
    async with open_app() as writer, open_app() as reader:
        conversation = await writer.conversations.open()
        read = await reader.conversations.open(conversation.id)
        watchers = [asyncio.ensure_future(watch(read, None, ConversationView()))]
        for n in range(3):
            await asyncio.gather(
                *[write(conversation, random.Random(f"{seed}{n}{k}"), f"{n}{k}.") for k in range(3)]
            )
            await writer.work(until_idle=True)
            known = await read.events()
            watchers.append(asyncio.ensure_future(watch(read, known[-1].seq, ConversationView(known))))
        await conversation.append("user_message_sent", {"content": LAST})
        loaded = ConversationView(await read.events()).items()
        async with asyncio.timeout(60):
            while not all(each.done() for each in watchers):
                await conversation.emit("session_end", {})  # a transient event may be lost, this one too
                await asyncio.wait(watchers, timeout=0.2)
        assert [each.result().items() for each in watchers] == [loaded] * len(watchers)
        assert [item["seq"] for item in loaded] == list(range(len(loaded)))
