"""A client of the HTTP server that uses only HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from foja.app import App
from foja.interfaces.web.server import address, bind, serving

SAY = "user_message_sent"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading them takes longer than most requests


@contextlib.asynccontextmanager
async def served(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an app on a free port and yield a client of it."""
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with (
            serving(app, listener),
            httpx.AsyncClient(base_url=address(listener), timeout=30, verify=NO_CERTIFICATES) as client,
        ):
            yield client


@dataclass(frozen=True, slots=True)
class Message:
    """One frame of an event stream; `id` is None where none was sent."""

    name: str
    id: str | None
    data: Any


async def messages(lines: AsyncIterator[str]) -> AsyncIterator[Message]:
    """Yield the messages of an event stream; comments are left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        if not line:
            if "data" in fields:
                yield Message(fields.get("event", "message"), fields.get("id"), json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


@dataclass
class Tab:
    """The state of a browser's EventSource and of its page."""

    cursor: str | None = None
    events: dict[int, Any] = field(default_factory=dict)
    transients: list[Any] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)
    repeated: int = 0
    count: int = 0

    def take(self, message: Message) -> None:
        self.count += 1
        if message.id is not None:
            self.cursor = message.id or None
        if message.name == "reset":
            self.resets.append(message.data["reason"])
            self.events.clear()
        elif message.name == "transient":
            self.transients.append(message.data)
        else:
            self.repeated += self.events.get(message.data["seq"]) == message.data
            self.events[message.data["seq"]] = message.data

    async def read(
        self, client: httpx.AsyncClient, path: str, *, until: Callable[[Tab], bool] | None = None
    ) -> None:
        """Follow after the stored cursor until the server ends the stream, or `until` holds."""
        if until and until(self):
            return
        headers = {"Last-Event-ID": self.cursor} if self.cursor else {}
        async with client.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for message in messages(answer.aiter_lines()):
                self.take(message)
                if until and until(self):
                    return


@contextlib.asynccontextmanager
async def reading(tab: Tab, client: httpx.AsyncClient, path: str) -> AsyncIterator[asyncio.Task[None]]:
    """Let a tab read in the background."""
    task = asyncio.create_task(tab.read(client, path))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
