"""Wake-ups. A hint says "look", never what: whoever is woken reads rows.

Hints go out after commit, one for everything of the last 5 ms. Losing one
costs a reader at most the time of its own slow poll.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Iterator
from uuid import UUID

from foja import errors, sql
from foja.driver import encoding
from foja.driver.database import Connection, connect, our_errors
from foja.driver.pipeline import Pipeline
from foja.ledger.event import Transient

CHANNEL = "foja"
EVERYTHING = "*"
LOG = "log"
PAUSE_SECONDS = 0.005
RECONNECT_SECONDS = 0.2
MAX_IDS = 7_900 // 37
PASSING = 4_096


class Subscription:
    """Somebody who waits for one stream to grow, or for something said in passing."""

    def __init__(self) -> None:
        self.grown = True
        self._passing: deque[Transient] = deque(maxlen=PASSING)
        self._woken = asyncio.Event()

    def set(self) -> None:
        """There may be something new to read."""
        self.grown = True
        self._woken.set()

    def hear(self, transient: Transient) -> None:
        """Keep what was said in passing until it is taken; the oldest is forgotten first."""
        self._passing.append(transient)
        self._woken.set()

    def clear(self) -> None:
        """Wait anew from here on."""
        self.grown = False
        self._woken.clear()

    def take(self) -> list[Transient]:
        """Return what was said in passing since last time."""
        heard = list(self._passing)
        self._passing.clear()
        return heard

    async def wait(self) -> None:
        await self._woken.wait()


class Notifier:
    """Sends and receives this process's hints. `epoch` is the history they were last sent in."""

    def __init__(self, url: str, role: str, epoch: str = "") -> None:
        self.epoch = epoch
        self._url, self._role = url, role
        self._watchers: defaultdict[UUID | None, set[Subscription]] = defaultdict(set)
        self._names: dict[str, UUID | None] = {}  # as they are heard
        self._touched: set[UUID | None] = set()
        self._due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._tasks.append(asyncio.create_task(self._send()))

    async def close(self) -> None:
        """End both tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def touch(self, entity_id: UUID) -> None:
        """Tell everybody who follows this stream to look, soon."""
        self._mark(entity_id)

    def touch_log(self) -> None:
        """Tell everybody who follows the whole log to look, soon."""
        self._mark(None)

    def pass_on(self, transient: Transient) -> None:
        """Tell everybody in this process who follows its stream what was said in passing."""
        for wake in self._watchers.get(transient.entity_id, ()):
            wake.hear(transient)

    @contextlib.contextmanager
    def watch(self, entity_id: UUID | None) -> Iterator[Subscription]:
        """Lend a wake that is set whenever this stream (or the log) may have grown."""
        woken = Subscription()
        self._watchers[entity_id].add(woken)
        self._names[_name(entity_id)] = entity_id
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
            self._tasks.append(self._listening)
        try:
            yield woken
        finally:
            self._watchers[entity_id].discard(woken)
            if not self._watchers[entity_id]:
                del self._watchers[entity_id], self._names[_name(entity_id)]

    def _mark(self, entity_id: UUID | None) -> None:
        if self._watchers:
            self._wake(entity_id)
        self._touched.add(entity_id)
        self._due.set()

    def _wake(self, entity_id: UUID | None) -> None:
        for woken in self._watchers.get(entity_id, ()):
            woken.set()

    def _wake_all(self) -> None:
        for entity_id in list(self._watchers):
            self._wake(entity_id)

    async def _send(self) -> None:
        while True:
            # A lost hint is a slower reader, nothing else.
            with contextlib.suppress(errors.FojaError), our_errors():
                await self._send_on(await Pipeline.open(self._url, self._role, "hint"))
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _send_on(self, pipeline: Pipeline) -> None:
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                self.epoch = (
                    await pipeline.ask("hint", [encoding.text(CHANNEL), encoding.text(self._words())])
                ).decode()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            pipeline.drop()

    def _words(self) -> str:
        touched, self._touched = self._touched, set()
        if len(touched) > MAX_IDS:
            return EVERYTHING
        return ",".join(map(_name, touched))

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(errors.FojaError), our_errors():
                await self._listen_on(await connect(self._url, self._role))
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_on(self, connection: Connection) -> None:
        try:
            await connection.execute(sql.query("listen"))
            self._wake_all()  # whatever was said while nobody listened
            async for notice in connection.notifies():
                self._hear(notice.payload)
        finally:
            connection.pgconn.finish()

    def _hear(self, words: str) -> None:
        if words == EVERYTHING:
            self._wake_all()
        else:
            for name in self._names.keys() & words.split(","):
                self._wake(self._names[name])


def _name(entity_id: UUID | None) -> str:
    return LOG if entity_id is None else str(entity_id)
