"""The HTTP server when the database is unavailable, when clients stall, and when it is terminated."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.slots import Slots
from foja.interfaces.web import connection
from foja.interfaces.web.conversations import feed as feeds
from tests.faults.proxy import wired
from tests.flow.client.client import SAY, Tab, reading, served, until
from tests.races.writers import TOOL, result, words


def stream_of(conversation: Conversation) -> str:
    return f"/v1/conversations/{conversation.id}/stream"


async def test_an_unavailable_database_is_a_503_with_retry_after(
    open_app: Callable[..., App], database_url: str
) -> None:
    message = {"kind": SAY, "payload": {"content": "x"}}
    async with (
        wired(database_url) as proxy,
        open_app(database_url=proxy.url, retry_seconds=0.2) as app,
        served(app) as client,
    ):
        conversation = (await client.post("/v1/conversations", json={"event": message})).headers["location"]
        assert (await client.get("/healthz")).status_code == 200
        proxy.cut("", "before", times=1_000_000)
        calls = [
            client.post(f"{conversation}/events", json=message),
            client.get(f"{conversation}/events"),
            client.get("/healthz"),
        ]
        for answer in [await call for call in calls]:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"] == "LedgerUnavailable"
        proxy.cut("", "before", times=0)
        assert (await client.post(f"{conversation}/events", json=message)).json()["seq"] == 1


async def test_streams_resume_when_the_database_is_back(
    app: App, open_app: Callable[..., App], database_url: str
) -> None:
    conversation = await app.conversations.open()
    await conversation.append(SAY, words("0"))
    tab = Tab()
    async with (
        wired(database_url) as proxy,
        open_app(database_url=proxy.url) as far,
        served(far) as client,
        reading(tab, client, stream_of(conversation)),
    ):
        await until(lambda: tab.count == 1)
        for turn in range(1, 3):
            proxy.cut("", "before", times=12)
            for _ in range(5):
                await conversation.append(SAY, words(str(turn)))
            await until(lambda: len(tab.events) == 5 * turn + 1)  # noqa: B023
    assert (sorted(tab.events), tab.resets, tab.repeated) == (list(range(11)), [], 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lane", ["postgres", "redis"])
async def test_no_cut_loses_or_repeats_an_event(
    open_app: Callable[..., App], request: pytest.FixtureRequest, lane: str, seed: int
) -> None:
    settings = {"redis_url": request.getfixturevalue("redis").url} if lane == "redis" else {}
    async with open_app(**settings, sequence_lane=lane) as app:
        await cut_everywhere(app, random.Random(seed))


async def cut_everywhere(app: App, chance: random.Random) -> None:
    """Clients connect, are cut at random and resume, while slots are reserved, filled and voided."""
    conversation = await app.conversations.open()
    tabs, over = [Tab() for _ in range(6)], asyncio.Event()

    async def visit(tab: Tab, client: httpx.AsyncClient) -> None:
        while not over.is_set() or sorted(tab.events) != list(range(len(tab.events))):
            most = tab.count + chance.randrange(1, 30)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.3):
                    await tab.read(client, stream_of(conversation), until=lambda t: t.count >= most)  # noqa: B023
            await asyncio.sleep(chance.random() * 0.02)

    async with served(app) as client:
        visits = [asyncio.create_task(visit(tab, client)) for tab in tabs]
        await write_randomly(conversation, chance)
        over.set()
        await asyncio.gather(*visits)
        fresh = {event.seq: str(event.id) for event in await conversation.events()}
        for tab in tabs:
            await tab.read(
                client, stream_of(conversation), until=lambda t: len(t.events) == len(fresh) and whole(t)
            )
            assert {seq: event["id"] for seq, event in tab.events.items()} == fresh
            assert tab.resets == []


def whole(tab: Tab) -> bool:
    return all(event["kind"] != "slot.open" for event in tab.events.values())


async def write_randomly(conversation: Conversation, chance: random.Random) -> None:
    open_slots: list[tuple[Slots, int]] = []
    for turn in range(60):
        match chance.randrange(4):
            case 0:
                slots = await conversation.reserve(chance.randrange(1, 4), ttl=60)
                open_slots.extend((slots, ordinal) for ordinal in range(len(slots.seqs)))
            case 1 if open_slots:
                slots, ordinal = open_slots.pop(chance.randrange(len(open_slots)))
                await slots.fill(ordinal, TOOL, result(str(turn)))
            case 2 if open_slots:
                slots, ordinal = open_slots.pop(chance.randrange(len(open_slots)))
                await slots.void(ordinal, reason="denied")
            case _:
                await conversation.append(SAY, words(str(turn)))
        await asyncio.sleep(chance.random() * 0.01)
    for slots, ordinal in open_slots:
        await slots.fill(ordinal, TOOL, result("late"))


async def test_one_reader_serves_every_client(app: App, admin: psycopg.Connection[Any]) -> None:
    """Sixty clients of one conversation cause no more queries than one."""
    conversation = await app.conversations.open()
    await conversation.append(SAY, words("0"))
    tabs = [Tab() for _ in range(60)]
    async with served(app) as client, contextlib.AsyncExitStack() as stack:
        limits = httpx.Limits(max_connections=100)
        wide = await stack.enter_async_context(
            httpx.AsyncClient(base_url=client.base_url, limits=limits, timeout=30)
        )
        for tab in tabs:
            await stack.enter_async_context(reading(tab, wide, stream_of(conversation)))
        await until(lambda: all(tab.count == 1 for tab in tabs))
        reads = reads_counted(app)
        for turn in range(10):
            await conversation.append(SAY, words(str(turn)))
            await until(lambda: all(tab.count == turn + 2 for tab in tabs))  # noqa: B023
        assert sum(reads) < 100
    assert all(sorted(tab.events) == list(range(11)) for tab in tabs)


def reads_counted(app: App) -> list[int]:
    """Return a list that grows with every page read."""
    reads: list[int] = []
    tail = app.ledger.tail

    async def counted(*values: Any) -> Any:
        reads.append(1)
        return await tail(*values)

    app.ledger.tail = counted  # type: ignore
    return reads


def record_detached(monkeypatch: pytest.MonkeyPatch) -> list[feeds.Listener]:
    """Return a list that grows with every listener that is detached."""
    detached: list[feeds.Listener] = []
    detach = feeds.Listener.detach

    def recorded(listener: feeds.Listener) -> None:
        detached.append(listener)
        detach(listener)

    monkeypatch.setattr(feeds.Listener, "detach", recorded)
    return detached


async def stalled(client: httpx.AsyncClient, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Request a stream through a socket that is not read."""
    address = urlsplit(str(client.base_url))
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=65_536)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    await writer.drain()
    return reader, writer


async def test_a_slow_client_needs_little_memory_and_misses_nothing(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MAX_BUFFERED_BYTES", 50_000)
    conversation, blob = await app.conversations.open(), "x" * 20_000
    async with served(app) as client:
        detached = record_detached(monkeypatch)
        reader, writer = await stalled(client, stream_of(conversation))
        await reader.readuntil(b"retry: 1000")
        buffered = 0
        for _ in range(100):
            await conversation.append_many([conversation.draft(SAY, words(blob)) for _ in range(10)])
            buffered = max([buffered, *(listener._size for listener in detached)])
        await until(lambda: bool(detached))
        assert buffered < 100_000, "twenty megabytes were written"
        seen: list[int] = []
        async with asyncio.timeout(60):
            while len(seen) < 1_000:
                line = await reader.readline()
                seen += [int(seq) for seq in re.findall(rb'^data: {"seq":(\d+),', line)]
        writer.close()
    assert seen == list(range(1_000))


async def test_a_client_that_never_reads_is_disconnected(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STALL_SECONDS", 0.5)
    lost, forget = asyncio.Event(), connection.Connection.connection_lost

    def record(ended: connection.Connection, error: Exception | None) -> None:
        forget(ended, error)
        lost.set()

    monkeypatch.setattr(connection.Connection, "connection_lost", record)
    conversation, blob = await app.conversations.open(), "x" * 500_000
    for _ in range(40):
        await conversation.append(SAY, words(blob))
    async with served(app) as client:
        reader, writer = await stalled(client, stream_of(conversation))
        await reader.readuntil(b"retry: 1000")
        size = 0
        async with asyncio.timeout(60):
            await lost.wait()
            while data := await reader.read(1_000_000):
                size += len(data)
        writer.close()
    assert size < 19_000_000


@pytest.mark.parametrize("verb", ["web", "up"])
async def test_sigterm_ends_twenty_streams_at_once(
    app: App, database_url: str, tmp_path: Path, verb: str
) -> None:
    conversation = await app.conversations.open()
    await conversation.append(SAY, words("0"))
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("foja"), verb, "--port", "0", "--home", str(tmp_path / "home"),
        env={**os.environ, "FOJA_DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=await address_of(process), timeout=30) as client:
            tabs = [Tab() for _ in range(20)]
            readings = [asyncio.create_task(tab.read(client, stream_of(conversation))) for tab in tabs]
            await until(lambda: all(tab.count == 1 for tab in tabs))
            waiting = asyncio.create_task(
                client.get(f"/v1/conversations/{conversation.id}/events?after=0&wait=60")
            )
            await asyncio.sleep(0.3)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(asyncio.gather(*readings), 60)
            assert (await waiting).json()["events"] == []
            assert await asyncio.wait_for(process.wait(), 60) == 0
            assert time.monotonic() - began < 30, "it waited for a client"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def address_of(process: asyncio.subprocess.Process) -> str:
    """Return the address that a started server prints."""
    assert process.stdout
    async with asyncio.timeout(60):
        while line := (await process.stdout.readline()).decode():
            found = [word.rstrip(";") for word in line.split() if word.startswith("http://")]
            if found:
                return found[0]
    raise AssertionError("no address was printed")


async def test_heartbeats_are_sent_while_nothing_happens(open_app: Callable[..., App]) -> None:
    """A stream without heartbeats, or one that ends, fails."""
    async with open_app(heartbeat_seconds=0.1) as app, served(app) as client:
        conversation = await app.conversations.open()
        async with client.stream("GET", stream_of(conversation)) as answer:
            beats = 0
            async for line in lines(answer):
                beats += line == ": beat"
                if beats == 3:
                    break
            assert beats == 3


async def lines(answer: httpx.Response) -> AsyncIterator[str]:
    async for line in answer.aiter_lines():
        yield line
