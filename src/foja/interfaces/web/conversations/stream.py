"""A conversation as server-sent events: the stored events, then new ones, with a heartbeat."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foja.engine.ledger.event import Event, Reset
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.live.follower import PAGE_EVENTS, RETRY_SECONDS
from foja.engine.ledger.reader import parse_cursor
from foja.engine.tasks import end
from foja.errors import CursorLost, Unavailable
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.conversations.feed import (
    HEARTBEAT_FRAME,
    Feed,
    Feeds,
    Frame,
    Listener,
    encode,
    encode_reset,
)

RETRY = b"retry: 1000\n\n"
SLICE_BYTES = 65_536
FIRST_PAGE_EVENTS, PAGE_BYTES = 16, 1_048_576
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

log = logging.getLogger("foja.web")


class ClientStream:
    """The stream of one client that follows one conversation."""

    def __init__(self, ledger: Ledger, entity_id: UUID, after: str | int | None, heartbeat: float) -> None:
        self._ledger, self._heartbeat = ledger, heartbeat
        try:
            parse_cursor(after)
            self._first: Sequence[Reset] = ()
        except CursorLost:
            after, self._first = None, [Reset("unknown")]
        self._follower = ledger.follower(entity_id, after, page=FIRST_PAGE_EVENTS)

    async def pieces(self, feeds: Feeds) -> AsyncGenerator[bytes]:
        """Yield the bytes to send, without end."""
        yield RETRY + b"".join(map(encode_reset, self._first))
        with feeds.join(self._ledger, self._follower.entity_id) as (feed, listener):
            while True:
                if piece := await self._next(feed, listener):
                    yield piece

    async def _next(self, feed: Feed, listener: Listener) -> bytes:
        if listener.detached:
            return await self._attach(feed, listener)
        if self._follower.behind:
            return await self._catch_up(listener)
        await listener.woken.wait()
        return b"".join(self._encode_missing(listener.take()))

    async def _attach(self, feed: Feed, listener: Listener) -> bytes:
        """Attach to the shared reader once it has its position; rows are read only after that."""
        try:
            async with asyncio.timeout(self._heartbeat):
                await feed.ready.wait()
        except TimeoutError:
            return HEARTBEAT_FRAME
        listener.detached = False
        self._follower.behind = True
        return b""

    async def _catch_up(self, listener: Listener) -> bytes:
        try:
            piece = b"".join(map(self._encode_own, await self._follower.step()))
        except Unavailable:
            listener.detach()
            await asyncio.sleep(RETRY_SECONDS)
            return b""
        self._fit_page(len(piece))
        return piece

    def _fit_page(self, size: int) -> None:
        """Fit the next page to a limit of bytes: an event may have a few bytes or a megabyte."""
        page = self._follower.page * PAGE_BYTES // max(size, 1)
        self._follower.page = max(1, min(page, 2 * self._follower.page, PAGE_EVENTS))

    def _encode_missing(self, frames: Sequence[Frame]) -> Sequence[bytes]:
        """Return those frames that this client lacks, each with the client's own cursor."""
        position, missing = self._follower.position, []
        assert position is not None
        for frame in frames:
            if frame.seq is None:
                missing.append(frame.data)
            elif position.lacks(frame.seq, filled=frame.filled):
                missing.append(_with_id(position.take(frame.seq, filled=frame.filled), frame.data))
        return missing

    @staticmethod
    def _encode_own(frame: Event | Reset) -> bytes:
        return encode_reset(frame) if isinstance(frame, Reset) else _with_id(frame.cursor, encode(frame).data)


def stream_events(caller: Caller, entity_id: UUID, after: str | int | None) -> EventStream:
    """Return the response that sends the events of a stream after a cursor or number."""
    client = ClientStream(caller.app.ledger, entity_id, after, caller.ctx.heartbeat)
    return EventStream(client.pieces(caller.ctx.feeds), caller)


class EventStream(Response):
    """Sends pieces until the client disconnects, its key or session ends, or the server closes."""

    def __init__(self, pieces: AsyncGenerator[bytes], caller: Caller) -> None:
        super().__init__()
        self._pieces, self._caller, self._ctx = pieces, caller, caller.ctx

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._ctx.stream(), self._caller.lasting() as ended:
            await self._run(receive, send, ended)

    async def _run(self, receive: Receive, send: Send, ended: asyncio.Event) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        sending = asyncio.create_task(self._send(send))
        closing = [asyncio.create_task(each.wait()) for each in (self._ctx.closing, ended)]
        ends = [sending, *closing, asyncio.create_task(_disconnected(receive))]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end(ends)
        _log_failure(sending)
        if any(_succeeded(task) for task in (sending, *closing)):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send) -> None:
        async with contextlib.aclosing(self._pieces) as pieces:
            async for piece in pieces:
                # In slices: the server accepts one slice whole and applies back pressure to the next.
                for start in range(0, len(piece), SLICE_BYTES):
                    body = piece[start : start + SLICE_BYTES]
                    await send({"type": "http.response.body", "body": body, "more_body": True})


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("a stream failed; its client will resume", exc_info=error)


def _succeeded(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _with_id(cursor: str | None, data: bytes) -> bytes:
    return data if cursor is None else b"id: %s\n%s" % (cursor.encode(), data)
