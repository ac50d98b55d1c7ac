"""One reader of a conversation per process, and everybody it reads for.

A listener joins first, then catches up by itself from its own cursor, then takes
what the shared reader brought meanwhile. Its own position drops what it has and
earns its own cursors, so the seam neither loses nor repeats. A listener that is
too slow loses its buffer, never an event: it catches up again from its position.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from foja.errors import Unavailable
from foja.ledger.event import Event, Reset, StreamItem, Transient
from foja.ledger.ledger import Ledger
from foja.ledger.live.follower import RETRY_SECONDS
from foja.metrics import BUFFERS_LOST

log = logging.getLogger("foja.web")
MAX_BUFFERED_BYTES = 256 * 1024
HEARTBEAT_FRAME = b": beat\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """A piece of a stream, encoded once for everybody; `seq` is None for what has no number."""

    seq: int | None
    filled: bool
    data: bytes


class Listener:
    """What one client still has to be sent: bounded, and dropped whole when it is too much."""

    def __init__(self) -> None:
        self.lost = True  # must it catch up by itself?
        self._frames: deque[Frame] = deque()
        self._size = 0
        self._woken = asyncio.Event()

    def add(self, frame: Frame) -> None:
        """Keep a frame, unless this listener is lost already."""
        if self.lost:
            return
        self._frames.append(frame)
        self._size += len(frame.data)
        if self._size > MAX_BUFFERED_BYTES:
            BUFFERS_LOST.inc()
            self.lose()
        self._woken.set()

    def lose(self) -> None:
        """Forget everything: the listener must catch up."""
        self.lost = True
        self._frames.clear()
        self._size = 0
        self._woken.set()

    def begin(self) -> None:
        """Listen from now on."""
        self.lost = False

    def take(self) -> list[Frame]:
        """Return what came, and keep nothing."""
        frames, self._size = list(self._frames), 0
        self._frames.clear()
        self._woken.clear()
        return frames

    async def wait(self) -> None:
        """Wait until something came."""
        await self._woken.wait()


class Feed:
    """The shared reader of one conversation."""

    def __init__(self, ledger: Ledger, entity_id: UUID, beat: float) -> None:
        self.listeners: set[Listener] = set()
        self._ledger, self._entity_id = ledger, entity_id
        self._placed = asyncio.Event()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._beat(beat))]

    async def placed(self) -> None:
        """Wait until the reader has its place: whoever reads rows after that misses nothing here."""
        await self._placed.wait()

    def end(self) -> None:
        """Stop reading."""
        for task in self._tasks:
            task.cancel()

    async def _beat(self, seconds: float) -> None:
        """Let nobody wait in silence: one clock for all costs less than a timer each."""
        while True:
            await asyncio.sleep(seconds)
            for listener in self.listeners:
                listener.add(Frame(None, filled=False, data=HEARTBEAT_FRAME))

    async def _read(self) -> None:
        while True:
            try:
                await self._read_on()
            except Unavailable:
                pass
            except Exception:  # a reader that died in silence would leave its listeners waiting for ever
                log.exception("reading %s failed; trying again", self._entity_id)
            self._placed.clear()
            for listener in self.listeners:
                listener.lose()
            await asyncio.sleep(RETRY_SECONDS)

    async def _read_on(self) -> None:
        """Read from now on, until the history is another one."""
        head = (await self._ledger.state(self._entity_id)).next_seq - 1
        follower = self._ledger.follower(self._entity_id, head)
        first = await follower.step()
        self._placed.set()
        for each in first:
            self._pass_on(each)
        async with contextlib.aclosing(self._ledger.go_on(follower)) as frames:
            async for frame in frames:
                if isinstance(frame, Reset):
                    return
                self._pass_on(frame)

    def _pass_on(self, frame: StreamItem) -> None:
        if isinstance(frame, Reset):
            return
        encoded = encode(frame)
        for listener in self.listeners:
            listener.add(encoded)


class Feeds:
    """The feeds of this process, each there while somebody listens."""

    def __init__(self, ledger: Ledger, beat: float) -> None:
        self._ledger, self._beat = ledger, beat
        self._feeds: dict[UUID, Feed] = {}

    @contextlib.contextmanager
    def join(self, entity_id: UUID) -> Iterator[tuple[Feed, Listener]]:
        """Lend a listener of a conversation."""
        feed = self._feeds.get(entity_id)
        if feed is None:
            feed = self._feeds[entity_id] = Feed(self._ledger, entity_id, self._beat)
        listener = Listener()
        feed.listeners.add(listener)
        try:
            yield feed, listener
        finally:
            feed.listeners.discard(listener)
            if not feed.listeners:
                feed.end()
                self._feeds.pop(entity_id, None)


def encode(said: Event | Transient) -> Frame:
    """Return an event as a frame; its cursor is the frame's id, and each listener's own."""
    envelope = said.envelope()
    del envelope["cursor"]
    if isinstance(said, Transient):
        return Frame(None, filled=False, data=_lines("transient", envelope))
    return Frame(said.seq, not said.open, _lines("event", envelope))


def encode_reset(reset: Reset) -> bytes:
    """Return a reset as a frame that also takes the client's cursor away."""
    return b"id\n" + _lines("reset", {"reason": reset.reason})


def _lines(name: str, value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
