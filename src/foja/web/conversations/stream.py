"""A conversation as server-sent events: what is there, then what comes, with a heartbeat."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foja.errors import CursorLost, Unavailable
from foja.ledger.event import Event, Reset
from foja.ledger.ledger import Ledger
from foja.ledger.live.follower import PAGE_EVENTS, RETRY_SECONDS
from foja.ledger.reader import parse_cursor
from foja.web.context import WebContext
from foja.web.conversations.feed import HEARTBEAT_FRAME, Feed, Feeds, Frame, Listener, encode, encode_reset

RETRY = b"retry: 1000\n\n"
STALLED = 30.0
SLICE = 65_536
FIRST_PAGE, PAGE_BYTES = 16, 1_048_576
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

log = logging.getLogger("foja.web")


class Follow:
    """One client that follows one conversation."""

    def __init__(self, ledger: Ledger, entity_id: UUID, after: str | int | None, beat: float) -> None:
        self._beat = beat
        try:
            parse_cursor(after)
            self._first: Sequence[Reset] = ()
        except CursorLost:
            after, self._first = None, [Reset("unknown")]
        self._follower = ledger.follower(entity_id, after, page=FIRST_PAGE)

    async def pieces(self, feeds: Feeds) -> AsyncGenerator[bytes]:
        """Yield what is to be sent, for ever; empty of news, a heartbeat."""
        yield RETRY + b"".join(map(encode_reset, self._first))
        with feeds.join(self._follower.entity_id) as (feed, listener):
            while True:
                if piece := await self._next(feed, listener):
                    yield piece

    async def _next(self, feed: Feed, listener: Listener) -> bytes:
        if listener.lost:
            return await self._begin(feed, listener)
        if self._follower.behind:
            return await self._catch_up(listener)
        await listener.wait()
        return b"".join(self._news(listener.take()))

    async def _begin(self, feed: Feed, listener: Listener) -> bytes:
        """Listen to the shared reader, once it has its place; only then are rows read here."""
        try:
            async with asyncio.timeout(self._beat):
                await feed.placed()
        except TimeoutError:
            return HEARTBEAT_FRAME
        listener.begin()
        self._follower.behind = True
        return b""

    async def _catch_up(self, listener: Listener) -> bytes:
        try:
            piece = b"".join(map(self._own, await self._follower.step()))
        except Unavailable:
            listener.lose()
            await asyncio.sleep(RETRY_SECONDS)
            return b""
        self._fit_page(len(piece))
        return piece

    def _fit_page(self, size: int) -> None:
        """Read the next page as long as memory likes it: events may be a few bytes or a megabyte."""
        page = self._follower.page * PAGE_BYTES // max(size, 1)
        self._follower.page = max(1, min(page, 2 * self._follower.page, PAGE_EVENTS))

    def _news(self, frames: Sequence[Frame]) -> Sequence[bytes]:
        """Return what of these frames this client lacks, each under its own cursor."""
        position, news = self._follower.position, []
        assert position is not None
        for frame in frames:
            if frame.seq is None:
                news.append(frame.data)
            elif position.lacks(frame.seq, filled=frame.filled):
                news.append(_under(position.take(frame.seq, filled=frame.filled), frame.data))
        return news

    @staticmethod
    def _own(frame: Event | Reset) -> bytes:
        return encode_reset(frame) if isinstance(frame, Reset) else _under(frame.cursor, encode(frame).data)


class EventStream(Response):
    """Sends pieces until the client goes, stalls, or the door closes."""

    def __init__(self, pieces: AsyncGenerator[bytes], ctx: WebContext) -> None:
        super().__init__()
        self._pieces, self._ctx = pieces, ctx
        self._since: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._ctx.stream():
            await self._run(receive, send)

    async def _run(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        sending = asyncio.create_task(self._send(send))
        closing = asyncio.create_task(self._ctx.closing.wait())
        ends = [sending, closing, *map(asyncio.create_task, (_gone(receive), self._stalled()))]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        _log_failure(sending)
        if any(_came_to_its_end(task) for task in (sending, closing)):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        async with contextlib.aclosing(self._pieces) as pieces:
            async for piece in pieces:
                # In slices: the server takes one whole, and makes only the next one wait.
                for start in range(0, len(piece), SLICE):
                    body = piece[start : start + SLICE]
                    self._since = clock()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    self._since = None

    async def _stalled(self) -> None:
        """Return once a slice was not taken for too long; one look now and then, not a timer for each."""
        clock = asyncio.get_running_loop().time
        left = STALLED
        while left > 0:
            await asyncio.sleep(left)
            left = STALLED if self._since is None else self._since + STALLED - clock()


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("a stream broke off; its client resumes", exc_info=error)


def _came_to_its_end(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _under(cursor: str | None, data: bytes) -> bytes:
    return data if cursor is None else b"id: %s\n%s" % (cursor.encode(), data)
