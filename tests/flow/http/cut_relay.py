"""A relay between a client and a server that loses chosen requests or answers, and can be cut."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

Moment = Literal["and not saved", "but saved"]


@dataclass(eq=False)
class CutRelay:
    """Carries connections; `lose` cuts the next requests that contain a text. While `away`, it refuses."""

    host: str
    port: int
    cuts: int = 0
    away: bool = False
    _text: bytes = b""
    _moment: Moment = "but saved"
    _times: int = 0
    _open: set[StreamWriter] = field(default_factory=set)

    def lose(self, text: str, moment: Moment, times: int = 1) -> None:
        """Lose the next requests that contain this text, or the answers to them."""
        self._text, self._moment, self._times = text.encode(), moment, times

    def cut(self) -> None:
        """End every open connection; new ones are carried, unless it is away."""
        for writer in self._open:
            self.cuts += 1
            writer.transport.abort()

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self.away:
            writer.transport.abort()
            return
        near, far = await asyncio.open_connection(self.host, self.port)
        self._open |= {writer, far}
        silent = asyncio.Event()
        tasks = [
            asyncio.create_task(self._up(reader, far, silent)),
            asyncio.create_task(_down(near, writer, silent)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._open -= {writer, far}
            for end in (writer, far):
                end.transport.abort()

    async def _up(self, reader: StreamReader, far: StreamWriter, silent: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if self._times and self._text in data:
                    self._times -= 1
                    self.cuts += 1
                    if self._moment == "and not saved":
                        return
                    silent.set()
                far.write(data)
                await far.drain()


async def _down(near: StreamReader, writer: StreamWriter, silent: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while data := await near.read(65_536):
            if silent.is_set():  # the server has answered: it is saved
                return
            writer.write(data)
            await writer.drain()


@contextlib.asynccontextmanager
async def cut_relay(url: str) -> AsyncIterator[tuple[str, CutRelay]]:
    """Yield an address of a server that leads through a relay."""
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    relay = CutRelay(parts.hostname, parts.port)
    server = await asyncio.start_server(relay.carry, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", relay
    finally:
        server.close()
        relay.away = True
        relay.cut()
        await asyncio.sleep(0.05)
