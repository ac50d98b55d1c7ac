"""Followers in a separate process: `python -m bench.workloads.listener ROLE …`.

Prints `ready` when it listens, then what it received, with times, as JSON. The clock is that of the
machine, so that the times of two processes can be compared.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

import foja

FRAME = re.compile(rb'\ndata: {"seq":(\d+),.*?"sent":(\d+)')
Received = list[tuple[int, int]]


class Client(asyncio.Protocol):
    """One follower of a stream over HTTP; collects the number and the age of every event."""

    def __init__(self, path: str) -> None:
        self.received: Received = []
        self._rest = b""
        self._request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now, data = time.monotonic_ns(), self._rest + data
        end = 0
        for found in FRAME.finditer(data):
            self.received.append((int(found[1]), now - int(found[2])))
            end = found.end()
        self._rest = data[end:][-8_192:]


async def streams(address: str, path: str, count: str, events: str) -> list[Received]:
    """Follow one conversation with many clients until each has `events` events, or a timeout."""
    server, clients = urlsplit(address), [Client(path) for _ in range(int(count))]
    loop = asyncio.get_running_loop()
    for client in clients:
        await loop.create_connection(lambda client=client: client, server.hostname, server.port)  # type: ignore
    await _wait_for(lambda: all(client.received for client in clients))
    print("ready", flush=True)
    await _wait_for(lambda: all(len(client.received) >= int(events) for client in clients))
    await asyncio.sleep(0.5)  # for events that arrive twice
    return [client.received for client in clients]


async def follow(url: str, home: str, entity: str, events: str) -> list[Received]:
    """Follow one conversation through the Python API."""
    received: Received = []
    async with foja.connect(database_url=url, home=Path(home)) as app:
        conversation = await app.conversations.open(entity)
        async for event in conversation.follow():
            now = time.monotonic_ns()
            if event.seq is not None:
                received.append((event.seq, now))
                if event.seq == 0:
                    await asyncio.sleep(1)  # until the follower listens for notifications
                    print("ready", flush=True)
                if len(received) == int(events):
                    break
    return [received]


async def echo(url: str, events: str) -> list[Received]:
    """Receive notifications and send each one back."""
    received: Received = []
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as listening,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as sending,
    ):
        await listening.execute("listen there")
        print("ready", flush=True)
        async for notification in listening.notifies():
            received.append((int(notification.payload), time.monotonic_ns()))
            await sending.execute("select pg_notify('back', %s)", [notification.payload])
            if len(received) == int(events):
                break
    return [received]


async def _wait_for(done: object, seconds: float = 60) -> None:
    assert callable(done)
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    role = {"streams": streams, "follow": follow, "echo": echo}[sys.argv[1]]
    print(json.dumps(asyncio.run(role(*sys.argv[2:]))))  # type: ignore[operator]
