"""Those who listen, in a process of their own: `python -m bench.works.listener ROLE …`.

Says `ready` when it listens and prints what it heard, and when, as JSON. The clock is the
machine's own, so that times of two processes can be compared.
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
Heard = list[tuple[int, int]]


class Client(asyncio.Protocol):
    """One reader of a stream over HTTP; keeps the number and the age of every event."""

    def __init__(self, path: str) -> None:
        self.heard: Heard = []
        self._rest = b""
        self._ask = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._ask)

    def data_received(self, data: bytes) -> None:
        now, data = time.monotonic_ns(), self._rest + data
        end = 0
        for found in FRAME.finditer(data):
            self.heard.append((int(found[1]), now - int(found[2])))
            end = found.end()
        self._rest = data[end:][-8_192:]


async def streams(address: str, path: str, count: str, events: str) -> list[Heard]:
    """Let many clients follow one conversation until each has so many events, or none comes any more."""
    place, clients = urlsplit(address), [Client(path) for _ in range(int(count))]
    loop = asyncio.get_running_loop()
    for client in clients:
        await loop.create_connection(lambda client=client: client, place.hostname, place.port)  # type: ignore
    await _until(lambda: all(client.heard for client in clients))
    print("ready", flush=True)
    await _until(lambda: all(len(client.heard) >= int(events) for client in clients))
    await asyncio.sleep(0.5)  # whatever came twice
    return [client.heard for client in clients]


async def follow(url: str, home: str, entity: str, events: str) -> list[Heard]:
    """Follow one conversation as a program does."""
    heard: Heard = []
    async with foja.connect(database_url=url, home=Path(home)) as app:
        talk = await app.conversations.open(entity)
        async for event in talk.follow():
            now = time.monotonic_ns()
            if event.seq is not None:
                heard.append((event.seq, now))
                if event.seq == 0:
                    await asyncio.sleep(1)  # until hints are listened to
                    print("ready", flush=True)
                if len(heard) == int(events):
                    break
    return [heard]


async def echo(url: str, events: str) -> list[Heard]:
    """Hear notifications and send each one back."""
    heard: Heard = []
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as ear,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as mouth,
    ):
        await ear.execute("listen there")
        print("ready", flush=True)
        async for notice in ear.notifies():
            heard.append((int(notice.payload), time.monotonic_ns()))
            await mouth.execute("select pg_notify('back', %s)", [notice.payload])
            if len(heard) == int(events):
                break
    return [heard]


async def _until(done: object, seconds: float = 60) -> None:
    assert callable(done)
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    role = {"streams": streams, "follow": follow, "echo": echo}[sys.argv[1]]
    print(json.dumps(asyncio.run(role(*sys.argv[2:]))))  # type: ignore[operator]
