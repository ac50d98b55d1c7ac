"""The body of a request as a file that a thread reads while the event loop receives it.

A few chunks are in memory at any time, however large the body is. The thread that reads is released
when the body ends, when the client leaves, and when the request is cancelled.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from queue import SimpleQueue
from typing import TypeVar

from starlette.requests import ClientDisconnect

from foja.engine.tasks import end
from foja.errors import Busy

CHUNK_BYTES = 1 << 20
CHUNKS_AHEAD = 2
Result = TypeVar("Result")


class BodySource(io.RawIOBase):
    """A binary file that is read once, in another thread than the one that feeds it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(CHUNKS_AHEAD)
        self._chunks: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size` of them; wait until there are some."""
        if not self._rest:
            self._rest = self._next()
        if size < 0 or size >= len(self._rest):
            found, self._rest = self._rest, b""
        else:
            found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _next(self) -> bytes:
        if self._ended:
            raise Busy("the object was purged while it was stored; send the request again")
        found = self._chunks.get()
        if isinstance(found, BaseException):
            raise found
        self._ended = not found
        self._loop.call_soon_threadsafe(self._room.release)
        return found

    def abandon(self) -> None:
        """Release a thread that still waits for the next bytes."""
        self._chunks.put(ClientDisconnect())

    async def feed(self, pieces: AsyncIterator[bytes]) -> None:
        """Pass on what the client sends, a chunk at a time; errors reach the reader."""
        try:
            async for chunk in _gathered(pieces):
                await self._room.acquire()
                self._chunks.put(chunk)
            self._chunks.put(b"")
        except BaseException as error:
            self._chunks.put(error if isinstance(error, Exception) else ClientDisconnect())
            raise


async def received(pieces: AsyncIterator[bytes], use: Callable[[BodySource], Awaitable[Result]]) -> Result:
    """Return what `use` makes of a body, which it reads in a thread while it arrives."""
    source = BodySource()
    feeding = asyncio.create_task(source.feed(pieces))
    try:
        return await use(source)
    finally:
        await end([feeding])
        source.abandon()


async def _gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield chunks of about a megabyte: each costs a change of threads."""
    parts: list[bytes] = []
    size = 0
    async for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)
