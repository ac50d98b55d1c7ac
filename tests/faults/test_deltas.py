"""What is said in passing: heard in every process, in order, kept nowhere, and never a ghost."""

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
from foja.conversations.model.view import ConversationView
from foja.conversations.service import Conversation
from foja.errors import TooLarge
from foja.ledger.event import Event, StreamItem, Transient
from foja.ledger.live.pubsub import MAX_NOTIFY_BYTES, Joiner, cut
from tests.flow.client import until
from tests.redis_server import RedisServer

SAY, CHUNK = "agent_message_sent", "message_chunk"


@contextlib.asynccontextmanager
async def hearing(talk: Conversation) -> AsyncIterator[list[StreamItem]]:
    """Let somebody follow meanwhile; it is ready once it was lent."""
    heard: list[StreamItem] = []

    async def follow() -> None:
        async for each in talk.follow():
            heard.append(each)

    task = asyncio.create_task(follow())
    try:
        async with asyncio.timeout(20):
            while not any(isinstance(each, Transient) for each in heard):
                await talk.emit("session_start", {})  # its own voice: it follows now …
                await asyncio.sleep(0.01)
        heard[:] = [each for each in heard if isinstance(each, Event)]
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def heard_from(speaker: Conversation, heard: list[StreamItem]) -> None:
    """Wait until the speaker is heard here, then forget it."""
    async with asyncio.timeout(20):
        while not passing(heard):
            await speaker.emit("session_start", {})
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    heard[:] = [each for each in heard if isinstance(each, Event)]


def passing(heard: list[StreamItem]) -> list[Transient]:
    return [each for each in heard if isinstance(each, Transient)]


async def say(talk: Conversation, text: str, index: int, block: int = 0) -> None:
    await talk.emit(CHUNK, {"text": text}, turn="t", block_index=block, event_index=index)


@pytest.fixture(params=["notifications", "redis"])
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "notifications":
        return {}
    server: RedisServer = request.getfixturevalue("redis")
    return {"redis_url": server.url, "sequence_lane": "postgres"}


async def test_chunks_reach_other_processes_in_order_and_whole(
    open_app: Callable[..., App], settings: dict[str, Any]
) -> None:
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        other = await there.conversations.open(mine.id)
        async with hearing(other) as heard:
            await heard_from(mine, heard)
            texts = [f"{index} ñ😀" for index in range(300)] + ["é" * 30_000, "x" * 60_000, "end"]
            for index, text in enumerate(texts):
                await say(mine, text, index)
                if index % 50 == 0:
                    await asyncio.sleep(0.03)
            await until(lambda: len(passing(heard)) == len(texts))
        got = passing(heard)
        assert [each.payload["text"] for each in got] == texts
        assert [each.event_index for each in got] == list(range(len(texts)))
        assert {(each.turn, each.block_index, each.entity_id) for each in got} == {("t", 0, mine.id)}


async def test_in_one_process_they_are_heard_at_once_and_before_what_follows(app: App) -> None:
    talk = await app.conversations.open()
    async with hearing(talk) as heard:
        for turn in range(20):
            await say(talk, str(turn), turn, turn)
            await talk.append(SAY, {"content": str(turn), "turn": "t", "block_index": turn})
        await until(lambda: len(heard) == 40)
    for turn in range(20):
        places = [at for at, each in enumerate(heard) if said(each) == str(turn)]
        assert [type(heard[at]) for at in places] == [Transient, Event]


def said(each: StreamItem) -> object:
    assert each.payload is not None
    return each.payload.get("text", each.payload.get("content"))


async def test_nobody_hears_another_tenant_another_conversation_or_the_past(
    open_app: Callable[..., App],
) -> None:
    async with open_app() as here, open_app() as there, open_app(tenant="other") as stranger:
        mine = await here.conversations.open()
        async with (
            hearing(await stranger.conversations.open(mine.id)) as strange,
            hearing(await there.conversations.open()) as beside,
            hearing(await there.conversations.open(mine.id)) as right,
        ):
            await heard_from(mine, right)
            for index in range(20):
                await say(mine, "x", index)
            await until(lambda: len(passing(right)) == 20)
            assert strange == beside == []
        async with hearing(await there.conversations.open(mine.id)) as late:
            await asyncio.sleep(0.2)
            assert late == []


async def test_nothing_is_written(app: App, admin: psycopg.Connection[Any]) -> None:
    talk = await app.conversations.open()
    for index in range(20):
        await say(talk, "x", index)
    await asyncio.sleep(0.1)
    assert await talk.events() == []
    assert admin.execute("select count(*) from foja.entity").fetchone() == (0,)


async def test_listeners_that_are_cut_hear_again(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with hearing(await there.conversations.open(mine.id)) as heard:
            await heard_from(mine, heard)
            ended = admin.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
                " and (query ilike 'listen foja_deltas%' or query ilike '%pg_notify%')"
            ).fetchall()
            assert len(ended) >= 2
            await heard_from(mine, heard)


async def test_the_words_of_strangers_stop_nobody(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with hearing(await there.conversations.open(mine.id)) as heard:
            await heard_from(mine, heard)
            for words in (
                "",
                "x",
                "1/0/1:{}",
                "1/0/1:[1,2]",
                '1/0/1:["a","default",[{}]]',
                "1/x/2:",
                "9/1/0:z",
            ):
                admin.execute("select pg_notify('foja_deltas', %s)", [words])
            await say(mine, "on", 0)
            await until(lambda: [said(each) for each in passing(heard)] == ["on"])


@pytest.mark.parametrize("fault", ["killed", "frozen"])
async def test_chunks_go_by_notifications_while_redis_is_away(
    open_app: Callable[..., App], redis: RedisServer, fault: str
) -> None:
    """None is lost, none comes twice, and Redis carries them again once it is back."""
    settings = {"redis_url": redis.url, "sequence_lane": "postgres"}
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        async with hearing(await there.conversations.open(mine.id)) as heard:
            await heard_from(mine, heard)
            redis.kill() if fault == "killed" else redis.freeze()
            for index in range(20):
                await say(mine, str(index), index)
                await asyncio.sleep(0.02)
            await mine.append(SAY, {"content": "kept", "turn": "t", "block_index": 0})
            await until(lambda: len(passing(heard)) == 20 and any(isinstance(each, Event) for each in heard))
            redis.start() if fault == "killed" else redis.thaw()
            await asyncio.sleep(1.5)
            await say(mine, "after", 20)
            await until(lambda: len(passing(heard)) > 20)
            assert [each.payload["text"] for each in passing(heard)] == [*map(str, range(20)), "after"]
            await until(lambda: subscribed(redis) == 1)


def subscribed(redis: RedisServer) -> int:
    """Return how many conversations somebody listens to on Redis."""
    with redis.client() as client:
        return len(client.pubsub_channels("foja:deltas:*:*"))


async def test_a_process_hears_only_what_somebody_there_follows(
    open_app: Callable[..., App], redis: RedisServer
) -> None:
    """Redis has a channel for each conversation, subscribed to while it is followed."""
    settings = {"redis_url": redis.url, "sequence_lane": "postgres"}
    async with open_app(**settings) as here, open_app(**settings) as there:
        mine = await here.conversations.open()
        other = await there.conversations.open(mine.id)
        async with hearing(other) as heard:
            await heard_from(mine, heard)
            async with hearing(other), hearing(await there.conversations.open()):
                await until(lambda: subscribed(redis) == 2)
            await until(lambda: subscribed(redis) == 1)
            heard.clear()
            await say(mine, "heard", 0)
            await until(lambda: [said(each) for each in passing(heard)] == ["heard"])
        await until(lambda: subscribed(redis) == 0)


async def test_a_chunk_that_is_too_large_is_refused(app: App) -> None:
    talk = await app.conversations.open()
    with pytest.raises(TooLarge, match="several"):
        await say(talk, "x" * 70_000, 0)


@pytest.mark.parametrize("seed", range(3))
async def test_no_chunk_outlives_its_event(open_app: Callable[..., App], seed: int) -> None:
    """Whatever comes first in the other process, the view there ends as a fresh load shows it."""
    dice = random.Random(seed)
    async with open_app() as here, open_app() as there:
        mine = await here.conversations.open()
        async with hearing(await there.conversations.open(mine.id)) as heard:
            await heard_from(mine, heard)
            for block in range(12):
                for index in range(dice.randrange(1, 6)):
                    await say(mine, "x", index, block)
                    await asyncio.sleep(dice.random() * 0.02)
                await mine.append(SAY, {"content": "x", "turn": "t", "block_index": block})
                if dice.random() < 0.3:
                    await say(mine, "late", 9, block)
            await until(lambda: sum(isinstance(each, Event) for each in heard) == 12)
            await asyncio.sleep(0.2)
        view = ConversationView(heard)
        assert view.settled
        assert view.items() == ConversationView(await mine.events()).items()


@given(st.lists(st.text(alphabet="abc", max_size=40_000), max_size=5), st.data())
def test_what_is_cut_is_joined_and_what_was_half_heard_is_dropped(
    texts: list[str], data: st.DataObject
) -> None:
    pieces = [piece for batch, text in enumerate(texts) for piece in cut(batch, text)]
    assert all(len(piece) < MAX_NOTIFY_BYTES + 100 for piece in pieces)
    join = Joiner()
    assert [text for piece in pieces if (text := join.add(7, piece)) is not None] == texts
    missed = data.draw(st.sets(st.integers(0, max(len(pieces) - 1, 0))))
    join = Joiner()
    rest = [join.add(7, piece) for at, piece in enumerate(pieces) if at not in missed]
    assert {text for text in rest if text is not None} <= set(texts)
