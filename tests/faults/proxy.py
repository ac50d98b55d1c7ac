"""A wire to PostgreSQL that is cut where the test says: before a message arrives, or before its answer."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit

READY = b"Z\x00\x00\x00\x05I"  # the end of an answer: what was asked for is committed
Moment = Literal["before", "after"]


class Wire:
    """Carries every connection of an app; `url` leads through it."""

    def __init__(self, url: str) -> None:
        self.url, self.cuts = url, 0
        self._text, self._moment, self._times = b"", "before", 0

    def cut(self, text: str, moment: Moment, times: int = 1) -> None:
        """Lose the next messages that hold `text`, or the answers to them."""
        self._text, self._moment, self._times = text.encode(), moment, times

    def verdict(self, data: bytes) -> str | None:
        """Return when to cut the connection that carries this message, if at all."""
        if not self._times or self._text not in data:
            return None
        self._times -= 1
        self.cuts += 1
        return self._moment


@dataclass
class Line:
    """One connection through the wire."""

    wire: Wire
    silent: bool = False

    async def up(self, client: StreamReader, server: StreamWriter) -> None:
        """Carry what the client says, until it is cut."""
        while data := await client.read(65536):
            moment = self.wire.verdict(data)
            if moment == "before":
                return
            self.silent = moment == "after"
            server.write(data)
            await server.drain()

    async def down(self, server: StreamReader, client: StreamWriter) -> None:
        """Carry what the server says; once silent, only wait until it has said all."""
        kept = b""
        while data := await server.read(65536):
            if not self.silent:
                client.write(data)
                await client.drain()
            elif (kept := kept + data).endswith(READY):
                return


@contextlib.asynccontextmanager
async def wired(url: str) -> AsyncIterator[Wire]:
    """Lay a wire to the server of `url`."""
    folder = tempfile.mkdtemp(prefix="foja-wire-")
    query = parse_qs(urlsplit(url).query)
    name = f".s.PGSQL.{query['port'][0]}"
    target = Path(query["host"][0], name)
    wire = Wire(urlsplit(url)._replace(query=urlencode({"host": folder, "port": query["port"][0]})).geturl())
    carrying: set[asyncio.Task[None]] = set()
    ends: list[StreamWriter] = []

    async def carry(reader: StreamReader, writer: StreamWriter) -> None:
        ends.append(writer)
        task = asyncio.create_task(_carry(Line(wire), reader, writer, target))
        carrying.add(task)
        task.add_done_callback(carrying.discard)

    listener = await asyncio.start_unix_server(carry, Path(folder, name))
    try:
        yield wire
    finally:
        listener.close()
        await listener.wait_closed()
        await asyncio.sleep(0.05)  # what was accepted in the last moment is carried too
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)
        for end in ends:  # also those whose task never began
            end.transport.abort()
        await asyncio.sleep(0.01)  # an aborted transport closes at the loop's next turn
        shutil.rmtree(folder)


async def _carry(line: Line, reader: StreamReader, writer: StreamWriter, target: Path) -> None:
    # Shielded: a connection half made when it is cancelled would never be closed.
    near, far = await asyncio.shield(asyncio.ensure_future(asyncio.open_unix_connection(target)))
    ways = [asyncio.create_task(line.up(reader, far)), asyncio.create_task(line.down(near, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, far):
            end.transport.abort()
            with contextlib.suppress(OSError):
                await end.wait_closed()
