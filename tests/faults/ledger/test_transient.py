"""Transients: delivered to every process in order, never stored, and superseded by their events."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event, StreamItem, Transient
from foja.engine.ledger.live.pubsub import MAX_NOTIFY_BYTES, Joiner, split
from foja.errors import TooLarge
from foja.pure.models.conversations.view import ConversationView
from tests.flow.client.client import until
from tests.redis_server import RedisServer

SAY, CHUNK = "agent_message_sent", "message_chunk"


@contextlib.asynccontextmanager
async def following(talk: Conversation) -> AsyncIterator[list[StreamItem]]:
    """Follow a conversation meanwhile; yield what is received, once the follower is ready."""
    received: list[StreamItem] = []

    async def follow() -> None:
        async for each in talk.follow():
            received.append(each)

    task = asyncio.create_task(follow())
    try:
        async with asyncio.timeout(60):
            while not any(isinstance(each, Transient) for each in received):
                await talk.emit("session_start", {})  # received by itself: it follows now
                await asyncio.sleep(0.01)
        await drained(talk, received)
        yield received
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def connected(sender: Conversation, received: list[StreamItem]) -> None:
    """Wait until transients of the sender arrive, then remove them."""
    async with asyncio.timeout(60):
        while not transients(received):
            await sender.emit("session_start", {})
            await asyncio.sleep(0.05)
    await drained(sender, received)


async def drained(sender: Conversation, received: list[StreamItem]) -> None:
    """Wait for a last transient, before which all others arrived, and remove them all."""
    last = {"last": random.random()}
    await sender.emit("session_start", last)
    await until(lambda: any(each.payload == last for each in transients(received)))
    received[:] = [each for each in received if isinstance(each, Event)]


def transients(received: list[StreamItem]) -> list[Transient]:
    return [each for each in received if isinstance(each, Transient)]


async def emit_chunk(talk: Conversation, text: str, index: int, block: int = 0) -> None:
    await talk.emit(CHUNK, {"text": text}, turn="t", block_index=block, event_index=index)


@pytest.fixture(params=["notifications", "redis"])
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "notifications":
        return {}
    server: RedisServer = request.getfixturevalue("redis")
    return {"redis_url": server.url, "sequence_lane": "postgres"}


async def test_chunks_arrive_in_other_processes_complete_and_in_order(
    open_app: Callable[..., App], settings: dict[str, Any]
) -> None:
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        other = await there.conversations.open(mine.id)
        async with following(other) as received:
            await connected(mine, received)
            texts = [f"{index} ñ😀" for index in range(300)] + ["é" * 30_000, "x" * 60_000, "end"]
            for index, text in enumerate(texts):
                await emit_chunk(mine, text, index)
                if index % 50 == 0:
                    await asyncio.sleep(0.03)
            await until(lambda: len(transients(received)) == len(texts))
        chunks = transients(received)
        assert [each.payload["text"] for each in chunks] == texts
        assert [each.event_index for each in chunks] == list(range(len(texts)))
        assert {(each.turn, each.block_index, each.entity_id) for each in chunks} == {("t", 0, mine.id)}


async def test_in_one_process_a_chunk_arrives_before_the_next_event(app: App) -> None:
    talk = await app.conversations.open()
    async with following(talk) as received:
        for turn in range(20):
            await emit_chunk(talk, str(turn), turn, turn)
            await talk.append(SAY, {"content": str(turn), "turn": "t", "block_index": turn})
        await until(lambda: len(received) == 40)
    for turn in range(20):
        found = [each for each in received if text_of(each) == str(turn)]
        assert [type(each) for each in found] == [Transient, Event]


def text_of(each: StreamItem) -> object:
    assert each.payload is not None
    return each.payload.get("text", each.payload.get("content"))


async def test_no_chunk_of_another_tenant_or_conversation_or_of_the_past_arrives(
    open_app: Callable[..., App],
) -> None:
    async with open_app() as here, open_app() as there, open_app(tenant="other") as other:
        mine = await here.conversations.open()
        async with (
            following(await other.conversations.open(mine.id)) as other_tenant,
            following(await there.conversations.open()) as other_conversation,
            following(await there.conversations.open(mine.id)) as same,
        ):
            await connected(mine, same)
            for index in range(20):
                await emit_chunk(mine, "x", index)
            await until(lambda: len(transients(same)) == 20)
            assert other_tenant == other_conversation == []
        async with following(await there.conversations.open(mine.id)) as late:
            await asyncio.sleep(0.2)
            assert not [each for each in transients(late) if each.kind != "session_start"]


async def test_nothing_is_written(app: App, admin: psycopg.Connection[Any]) -> None:
    talk = await app.conversations.open()
    for index in range(20):
        await emit_chunk(talk, "x", index)
    await asyncio.sleep(0.1)
    assert await talk.events() == []
    assert admin.execute("select count(*) from foja.entity").fetchone() == (0,)


async def test_disconnected_listeners_reconnect(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with following(await there.conversations.open(mine.id)) as received:
            await connected(mine, received)
            ended = admin.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
                " and (query ilike 'listen foja_transients%' or query ilike '%pg_notify%')"
            ).fetchall()
            assert len(ended) >= 2
            await connected(mine, received)


async def test_notifications_of_another_form_are_ignored(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with following(await there.conversations.open(mine.id)) as received:
            await connected(mine, received)
            for payload in (
                "",
                "x",
                "1/0/1:{}",
                "1/0/1:[1,2]",
                '1/0/1:["a","default",[{}]]',
                "1/x/2:",
                "9/1/0:z",
            ):
                admin.execute("select pg_notify('foja_transients', %s)", [payload])
            await emit_chunk(mine, "on", 0)
            await until(lambda: [text_of(each) for each in transients(received)] == ["on"])


@pytest.mark.parametrize("fault", ["killed", "frozen"])
async def test_chunks_are_sent_as_notifications_while_redis_does_not_answer(
    open_app: Callable[..., App], redis: RedisServer, fault: str
) -> None:
    """No chunk is lost or delivered twice, and Redis is used again when it answers."""
    settings = {"redis_url": redis.url, "sequence_lane": "postgres"}
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        async with following(await there.conversations.open(mine.id)) as received:
            await connected(mine, received)
            redis.kill() if fault == "killed" else redis.freeze()
            for index in range(20):
                await emit_chunk(mine, str(index), index)
                await asyncio.sleep(0.02)
            await mine.append(SAY, {"content": "stored", "turn": "t", "block_index": 0})
            await until(
                lambda: len(transients(received)) == 20 and any(isinstance(each, Event) for each in received)
            )
            redis.start() if fault == "killed" else redis.thaw()
            await until(lambda: subscribed(redis) == 1)
            await emit_chunk(mine, "after", 20)
            await until(lambda: len(transients(received)) > 20)
            assert [each.payload["text"] for each in transients(received)] == [*map(str, range(20)), "after"]


def subscribed(redis: RedisServer) -> int:
    """Return the number of conversations with a subscriber on Redis."""
    with redis.client() as client:
        return len(client.pubsub_channels("foja:transients:*:*"))


async def test_a_process_subscribes_only_to_followed_conversations(
    open_app: Callable[..., App], redis: RedisServer
) -> None:
    """Redis has a channel for each conversation; a process subscribes to it while it follows."""
    settings = {"redis_url": redis.url, "sequence_lane": "postgres"}
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        other = await there.conversations.open(mine.id)
        async with following(other) as received:
            await connected(mine, received)
            async with following(other), following(await there.conversations.open()):
                await until(lambda: subscribed(redis) == 2)
            await until(lambda: subscribed(redis) == 1)
            received.clear()
            await emit_chunk(mine, "one", 0)
            await until(lambda: [text_of(each) for each in transients(received)] == ["one"])
        await until(lambda: subscribed(redis) == 0)


async def test_a_large_chunk_is_refused(app: App) -> None:
    talk = await app.conversations.open()
    with pytest.raises(TooLarge, match="several"):
        await emit_chunk(talk, "x" * 70_000, 0)


@pytest.mark.parametrize("seed", range(3))
async def test_no_chunk_outlives_its_event(open_app: Callable[..., App], seed: int) -> None:
    """In whatever order they arrive in the other process, its view ends like a fresh one."""
    rng = random.Random(seed)
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with following(await there.conversations.open(mine.id)) as received:
            await connected(mine, received)
            for block in range(12):
                for index in range(rng.randrange(1, 6)):
                    await emit_chunk(mine, "x", index, block)
                    await asyncio.sleep(rng.random() * 0.02)
                await mine.append(SAY, {"content": "x", "turn": "t", "block_index": block})
                if rng.random() < 0.3:
                    await emit_chunk(mine, "late", 9, block)
            await until(lambda: sum(isinstance(each, Event) for each in received) == 12)
            await asyncio.sleep(0.2)
        view = ConversationView(received)
        assert view.settled
        assert view.items() == ConversationView(await mine.events()).items()


@given(st.lists(st.text(alphabet="abc", max_size=40_000), max_size=5), st.data())
def test_a_split_text_is_joined_or_dropped_if_a_part_is_lost(texts: list[str], data: st.DataObject) -> None:
    parts = [part for batch, text in enumerate(texts) for part in split(batch, text)]
    assert all(len(part) < MAX_NOTIFY_BYTES + 100 for part in parts)
    joiner = Joiner()
    assert [text for part in parts if (text := joiner.add(7, part)) is not None] == texts
    missed = data.draw(st.sets(st.integers(0, max(len(parts) - 1, 0))))
    joiner = Joiner()
    rest = [joiner.add(7, part) for index, part in enumerate(parts) if index not in missed]
    assert {text for text in rest if text is not None} <= set(texts)
