"""One shared reader per tenant, conversation and process, and its listeners.

A listener attaches first, then catches up from its own cursor, then takes the frames
that the shared reader has buffered meanwhile. Its own position skips what it already
has, so the transition neither loses nor repeats an event. A listener that is too slow
loses its buffer, never an event: it catches up again from its position.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from foja.engine.ledger.event import Event, Reset, StreamItem, Transient
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.live.follower import RETRY_SECONDS
from foja.engine.metrics import BUFFERS_LOST
from foja.engine.tasks import end
from foja.errors import Unavailable

log = logging.getLogger("foja.web")
MAX_BUFFERED_BYTES = 256 * 1024
HEARTBEAT_FRAME = b": beat\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """A part of a stream, encoded once for all listeners; `seq` is None for transient events."""

    seq: int | None
    filled: bool
    data: bytes


class Listener:
    """The frames that one client has not been sent yet. A buffer over the limit is dropped whole."""

    def __init__(self) -> None:
        self.detached = True  # it must catch up from its own position
        self._frames: list[Frame] = []
        self._size = 0
        self.woken = asyncio.Event()  # there is a frame, or the listener is detached

    def add(self, frame: Frame) -> None:
        """Buffer a frame, unless the listener is detached."""
        if self.detached:
            return
        self._frames.append(frame)
        self._size += len(frame.data)
        if self._size > MAX_BUFFERED_BYTES:
            BUFFERS_LOST.inc()
            self.detach()
        self.woken.set()

    def detach(self) -> None:
        """Drop the buffer: the listener must catch up."""
        self.detached = True
        self._frames.clear()
        self._size = 0
        self.woken.set()

    def take(self) -> list[Frame]:
        """Return the buffered frames and empty the buffer."""
        frames, self._frames, self._size = self._frames, [], 0
        self.woken.clear()
        return frames


class Feed:
    """The shared reader of one conversation."""

    def __init__(self, ledger: Ledger, entity_id: UUID, heartbeat: float) -> None:
        self.listeners: set[Listener] = set()
        self._ledger, self._entity_id = ledger, entity_id
        self.ready = asyncio.Event()  # it has its position: a listener that now reads rows misses nothing
        self._tasks = [asyncio.create_task(each) for each in (self._read(), self._send_heartbeats(heartbeat))]

    def stop(self) -> None:
        """Stop reading, in the background: a task may need another cancellation."""
        self._stopping = asyncio.create_task(end(self._tasks))

    async def _send_heartbeats(self, seconds: float) -> None:
        """Send heartbeats to all listeners: one clock costs less than a timer for each."""
        while True:
            await asyncio.sleep(seconds)
            for listener in self.listeners:
                listener.add(Frame(None, filled=False, data=HEARTBEAT_FRAME))

    async def _read(self) -> None:
        while True:
            try:
                await self._read_live()
            except Unavailable:
                pass
            except Exception:  # otherwise its listeners would wait for ever
                log.exception("reading %s failed; trying again", self._entity_id)
            self.ready.clear()
            for listener in self.listeners:
                listener.detach()
            await asyncio.sleep(RETRY_SECONDS)

    async def _read_live(self) -> None:
        """Read new events until the history is replaced."""
        head = (await self._ledger.state(self._entity_id)).next_seq - 1
        follower = self._ledger.follower(self._entity_id, head)
        first = await follower.step()
        self.ready.set()
        for each in first:
            self._broadcast(each)
        async with contextlib.aclosing(self._ledger.go_on(follower)) as frames:
            async for frame in frames:
                if isinstance(frame, Reset):
                    return
                self._broadcast(frame)

    def _broadcast(self, frame: StreamItem) -> None:
        if isinstance(frame, Reset):
            return
        encoded = encode(frame)
        for listener in self.listeners:
            listener.add(encoded)


class Feeds:
    """The feeds of this process; each exists while it has listeners."""

    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat
        self._feeds: dict[tuple[str, UUID], Feed] = {}

    @contextlib.contextmanager
    def join(self, ledger: Ledger, entity_id: UUID) -> Iterator[tuple[Feed, Listener]]:
        """Yield the feed of a tenant's conversation and a new listener of it."""
        key = ledger.tenant, entity_id
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = Feed(ledger, entity_id, self._heartbeat)
        listener = Listener()
        feed.listeners.add(listener)
        try:
            yield feed, listener
        finally:
            feed.listeners.discard(listener)
            if not feed.listeners:
                feed.stop()
                self._feeds.pop(key, None)


def encode(item: Event | Transient) -> Frame:
    """Return an event as a frame without its cursor: each listener has its own."""
    envelope = item.envelope()
    del envelope["cursor"]
    if isinstance(item, Transient):
        return Frame(None, filled=False, data=_lines("transient", envelope))
    return Frame(item.seq, not item.open, _lines("event", envelope))


def encode_reset(reset: Reset) -> bytes:
    """Return a reset as a frame that also clears the client's cursor."""
    return b"id\n" + _lines("reset", {"reason": reset.reason})


def _lines(name: str, value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
