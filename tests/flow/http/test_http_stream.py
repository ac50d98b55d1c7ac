"""Streams over HTTP: a valid cursor resumes, any other gets a reset and all events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.errors import CursorLost
from tests.cases import all_cases
from tests.database.schema.rows import disarm
from tests.faults.servers.test_http import write_randomly
from tests.flow.client.client import SAY, Message, Tab, messages, reading, served, until
from tests.races.writers import TOOL, result, words


def stream_of(conversation: Conversation) -> str:
    return f"/v1/conversations/{conversation.id}/stream"


async def open_conversation(app: App, length: int) -> Conversation:
    conversation = await app.conversations.open()
    await conversation.append_many([conversation.draft(SAY, words(str(turn))) for turn in range(length)])
    return conversation


async def first_messages(
    client: httpx.AsyncClient, path: str, count: int, last_event_id: bytes | None = None
) -> list[Message]:
    found: list[Message] = []
    headers = {b"Last-Event-ID": last_event_id} if last_event_id else {}
    async with asyncio.timeout(60), client.stream("GET", path, headers=headers) as answer:
        async for message in messages(answer.aiter_lines()):
            found.append(message)
            if len(found) == count:
                break
    return found


@all_cases(
    ("cursor", "reason"),
    [
        ("{epoch}:5", "future"),
        ("{epoch}:99999999999999999", "future"),
        ("5", "future"),
        ("000000000000:2", "epoch"),
        ("garbage", "unknown"),
        (":", "unknown"),
        ("{epoch}:-1", "unknown"),
        ("{epoch}:2:3", "unknown"),
        ("{epoch}:٣", "unknown"),
        ("٣", "unknown"),
        ("9" * 400, "unknown"),
    ],
)
@all_cases("way", ["Last-Event-ID", "after"])
async def test_an_invalid_cursor_gets_a_reset_and_all_events(
    app: App, cursor: str, reason: str, way: str
) -> None:
    conversation = await open_conversation(app, 5)
    cursor = cursor.format(epoch=(await conversation.state()).epoch)
    async with served(app) as client:
        if way == "after":
            path = f"{stream_of(conversation)}?{httpx.QueryParams(after=cursor)}"
            got = await first_messages(client, path, 6)
        else:
            got = await first_messages(client, stream_of(conversation), 6, cursor.encode())
    assert (got[0].name, got[0].data, got[0].id) == ("reset", {"reason": reason}, "")
    assert [message.data["seq"] for message in got[1:]] == [0, 1, 2, 3, 4]


async def test_a_valid_cursor_is_never_reset(app: App) -> None:
    """A client can resume later from every cursor that it got during concurrent writes."""
    conversation, tab = await app.conversations.open(), Tab()
    cursors: set[str] = set()
    chance = random.Random(7)
    async with served(app) as client:
        async with reading(tab, client, stream_of(conversation)):
            writing = asyncio.create_task(write_randomly(conversation, chance))
            while not writing.done():
                await asyncio.sleep(0.002)
                cursors |= {tab.cursor} if tab.cursor else set()
            await writing
            length = (await conversation.state()).next_seq
            await until(lambda: str(tab.cursor).endswith(f":{length - 1}"))
        assert len(cursors) > 5
        for cursor in cursors:
            below = int(cursor.partition(":")[2])
            resumed, path = Tab(cursor), stream_of(conversation)
            await resumed.read(client, path, until=lambda t: len(t.events) == length - 1 - below)  # noqa: B023
            assert resumed.resets == []
            assert sorted(resumed.events) == list(range(below + 1, length))


async def test_above_a_hole_frames_carry_no_id(app: App) -> None:
    conversation = await open_conversation(app, 1)
    slots = await conversation.reserve(1, ttl=60)
    await conversation.append(SAY, words("above"))
    async with served(app) as client:
        got = await first_messages(client, stream_of(conversation), 3)
        assert [message.id is None for message in got] == [False, True, True]
        tab = Tab()
        async with reading(tab, client, stream_of(conversation)):
            await until(lambda: tab.count == 3)
            await slots.fill(0, TOOL, result("a"))
            await until(lambda: tab.count == 4)
        assert tab.cursor
        assert tab.cursor.endswith(":2")
        assert tab.events[1]["kind"] == TOOL


async def test_the_header_wins_over_the_address(app: App) -> None:
    """A browser reconnects to the address it was given first, with the newest cursor in the header."""
    conversation = await open_conversation(app, 5)
    epoch = (await conversation.state()).epoch
    async with served(app) as client:
        path = f"{stream_of(conversation)}?after={epoch}:0"
        assert [m.data["seq"] for m in await first_messages(client, path, 4)] == [1, 2, 3, 4]
        header = f"{epoch}:2".encode()
        assert [m.data["seq"] for m in await first_messages(client, path, 2, header)] == [3, 4]


async def test_a_new_history_resets_every_client(app: App, admin: psycopg.Connection[Any]) -> None:
    conversation, tabs = await open_conversation(app, 5), [Tab() for _ in range(3)]
    async with (
        served(app) as client,
        reading(tabs[0], client, stream_of(conversation)),
        reading(tabs[1], client, stream_of(conversation)),
        reading(tabs[2], client, stream_of(conversation)),
    ):
        await until(lambda: all(len(tab.events) == 5 for tab in tabs))
        admin.execute("update foja.installation set epoch = 'other'")
        await until(lambda: all(tab.resets == ["epoch"] and len(tab.events) == 5 for tab in tabs))
        await conversation.append(SAY, words("on"))
        await until(lambda: all(len(tab.events) == 6 for tab in tabs))
    assert [tab.cursor for tab in tabs] == ["other:5"] * 3
    assert [tab.resets for tab in tabs] == [["epoch"]] * 3


async def test_a_long_history_is_complete_and_in_order(app: App) -> None:
    conversation = await open_conversation(app, 2_000)
    tab = Tab()
    async with served(app) as client:
        await tab.read(client, stream_of(conversation), until=lambda t: len(t.events) == 2_000)
    assert list(tab.events) == list(range(2_000))
    assert tab.count == 2_000


async def test_a_cursor_in_a_pruned_range_gets_a_reset_and_the_rest(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    """Pruning does not exist yet: rows are deleted here as an archive would."""
    conversation = await open_conversation(app, 10)
    await app.work(until_idle=True)
    epoch = (await conversation.state()).epoch
    disarm(admin).execute("delete from foja.event where seq < 6")
    left = [("event", f"{epoch}:{seq}") for seq in range(6, 10)]
    async with served(app) as client:
        path = stream_of(conversation)
        found = await first_messages(client, f"{path}?after={epoch}:2", 5)
        assert (found[0].name, found[0].data) == ("reset", {"reason": "pruned"})
        assert [(each.name, each.id) for each in found[1:]] == left
        for valid, rest in (("", left), (f"?after={epoch}:5", left), (f"?after={epoch}:7", left[2:])):
            found = await first_messages(client, f"{path}{valid}", len(rest))
            assert [(each.name, each.id) for each in found] == rest
        for after in (f"{epoch}:2", "2"):
            lost = await client.get(f"/v1/conversations/{conversation.id}/events?after={after}")
            assert lost.status_code == 410
            assert "pruned" in lost.json()["detail"]


async def test_reading_after_a_pruned_event_raises(app: App, admin: psycopg.Connection[Any]) -> None:
    """A reader learns that events are missing, by cursor and by number, at every limit."""
    conversation = await open_conversation(app, 10)
    await app.work(until_idle=True)
    epoch = (await conversation.state()).epoch
    disarm(admin).execute("delete from foja.event where seq < 6")
    for after in (f"{epoch}:2", 2, 0, 4):
        for limit in (1, 1000):
            with pytest.raises(CursorLost, match="pruned"):
                await conversation.events(after=after, limit=limit)
    assert [event.seq for event in await conversation.events(after=5)] == [6, 7, 8, 9]
    assert [event.seq for event in await conversation.events()] == [6, 7, 8, 9]
    assert await conversation.events(after=9) == []
    admin.execute("delete from foja.event")
    with pytest.raises(CursorLost, match="pruned"):
        await conversation.events(after=5)


async def test_a_hole_is_not_pruned(app: App) -> None:
    """Numbers that are not recorded yet are no reason to start again."""
    conversation = await open_conversation(app, 3)
    slots = await conversation.reserve(2)
    await slots.fill(1, "user_message_sent", {"content": "x"})
    await app.work(until_idle=True)
    assert [event.kind for event in await conversation.events(after=2)] == ["slot.open", "user_message_sent"]
    assert await conversation.events(after=4) == []


async def test_a_stream_over_the_limit_is_refused(open_app: Callable[..., App]) -> None:
    """It gets a problem, the other streams continue, and a closed stream makes room for a new one."""
    async with open_app(max_streams=2) as app, served(app) as client:
        conversation = await open_conversation(app, 1)
        tabs = [Tab(), Tab()]
        async with reading(tabs[0], client, stream_of(conversation)):
            async with reading(tabs[1], client, stream_of(conversation)):
                await until(lambda: all(len(tab.events) == 1 for tab in tabs))
                refused = await client.get(stream_of(conversation))
                assert refused.status_code == 503
                assert refused.headers["content-type"] == "application/problem+json"
                assert int(refused.headers["retry-after"]) > 0
                assert "FOJA_MAX_STREAMS" in refused.json()["detail"]
                await conversation.append(SAY, words("on"))
                await until(lambda: all(len(tab.events) == 2 for tab in tabs))
            async with asyncio.timeout(60):
                while await status(client, stream_of(conversation)) == 503:
                    await asyncio.sleep(0.02)


async def status(client: httpx.AsyncClient, path: str) -> int:
    async with client.stream("GET", path) as answer:
        return answer.status_code
