"""Notifications that a stream may have grown. They carry no data: a reader then reads rows.

They are sent after commit, one for everything of the last 5 ms. If one is lost,
a reader finds the events at its next poll. A stream is named together with its tenant,
so that no tenant learns from another one's id when something is written there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from typing import NoReturn, TypeAlias
from uuid import UUID

from foja import errors
from foja.engine import sql
from foja.engine.driver import encoding
from foja.engine.driver.connection import ANSWER_SECONDS
from foja.engine.driver.database import connect, our_errors
from foja.engine.driver.pipeline import Pipeline
from foja.engine.faults import SETTLE_SECONDS, Watch
from foja.engine.ledger.event import Transient
from foja.engine.tasks import end
from foja.pure.core.event import derived_id

CHANNEL = "foja"
EVERYTHING = "*"
LOG = "log"
PAUSE_SECONDS = 0.005
RECONNECT_SECONDS = 0.2
CHECK_SECONDS = 1.0
MAX_IDS = 7_900 // 37
NAME = b"foja/notification/v1"
MAX_TRANSIENTS = 4_096
# A stream of a tenant; a topic that all tenants share, with "" instead of a tenant; None is the whole log.
Topic: TypeAlias = tuple[str, UUID] | None


class Subscription:
    """Waits for one stream to grow, and receives its transients."""

    def __init__(self) -> None:
        self.grown = True
        self._transients: deque[Transient] = deque(maxlen=MAX_TRANSIENTS)
        self._notified = asyncio.Event()

    def set(self) -> None:
        """Note that there may be new events."""
        self.grown = True
        self._notified.set()

    def deliver(self, transient: Transient) -> None:
        """Add a transient to the queue. The oldest is dropped if the queue is full."""
        self._transients.append(transient)
        self._notified.set()

    def clear(self) -> None:
        """Wait for later notifications only."""
        self.grown = False
        self._notified.clear()

    def take(self) -> list[Transient]:
        """Return the queued transients and empty the queue."""
        transients = list(self._transients)
        self._transients.clear()
        return transients

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a notification. Return False if there is none within `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._notified.wait()
        return False


class Notifier:
    """Sends and receives notifications. `epoch` is the history of the last one sent."""

    def __init__(
        self, url: str, role: str, epoch: str = "", *, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self.epoch, self._limit = epoch, answer_seconds
        self._url, self._role = url, role
        self._subscriptions: defaultdict[Topic, set[Subscription]] = defaultdict(set)
        self._names: dict[str, Topic] = {}  # as in notifications
        self._touched: set[Topic] = set()
        self._due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._watch = Watch("notifications", SETTLE_SECONDS)

    def open(self) -> None:
        self._tasks.append(asyncio.create_task(keep_trying(self._send, self._watch)))

    async def close(self) -> None:
        """End both tasks."""
        await end(self._tasks)
        self._watch.close()

    def touch(self, topic: Topic) -> None:
        """Notify the followers of this stream, or of the whole log, in all processes."""
        if self._subscriptions:
            self._wake(topic)
        self._touched.add(topic)
        self._due.set()

    def deliver(self, tenant: str, transient: Transient) -> None:
        """Deliver a transient to this tenant's followers of its stream in this process."""
        for subscription in self._subscriptions.get((tenant, transient.entity_id), ()):
            subscription.deliver(transient)

    @contextlib.contextmanager
    def watch(self, topic: Topic) -> Iterator[Subscription]:
        """Yield a subscription that is set whenever this stream (or the log) may have grown."""
        subscription = Subscription()
        self._subscriptions[topic].add(subscription)
        self._names[name_of(topic)] = topic
        if self._listening is None:
            self._listening = asyncio.create_task(keep_trying(self._listen))
            self._tasks.append(self._listening)
        try:
            yield subscription
        finally:
            self._subscriptions[topic].discard(subscription)
            if not self._subscriptions[topic]:
                del self._subscriptions[topic], self._names[name_of(topic)]

    def _wake(self, topic: Topic) -> None:
        for subscription in self._subscriptions.get(topic, ()):
            subscription.set()

    def _wake_all(self) -> None:
        for topic in list(self._subscriptions):
            self._wake(topic)

    async def _send(self) -> None:
        """Send notifications until the connection breaks. A lost one only delays a reader."""
        pipeline = await Pipeline.open(self._url, self._role, "notify", answer_seconds=self._limit)
        try:
            while True:
                while not self._due.is_set():
                    if pipeline.broken:  # an idle process notices an outage too
                        raise errors.LedgerUnavailable("the database closed the connection; try again")
                    self._watch.worked()
                    with contextlib.suppress(TimeoutError):  # `wait_for` can lose a cancellation
                        async with asyncio.timeout(CHECK_SECONDS):
                            await self._due.wait()
                self._due.clear()
                values = [encoding.text(CHANNEL), encoding.text(self._payload())]
                self.epoch = (await pipeline.ask("notify", values)).decode()
                self._watch.worked()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            pipeline.drop()

    def _payload(self) -> str:
        touched, self._touched = self._touched, set()
        if len(touched) > MAX_IDS:
            return EVERYTHING
        return ",".join(map(name_of, touched))

    async def _listen(self) -> None:
        connection = await connect(self._url, self._role, answer_seconds=self._limit)
        try:
            with our_errors():
                await connection.execute(sql.query("listen"))
                self._wake_all()  # notifications may have been missed before
                async for notification in connection.notifications():
                    self._receive(notification.payload)
        finally:
            connection.pgconn.finish()

    def _receive(self, payload: str) -> None:
        if payload == EVERYTHING:
            self._wake_all()
        else:
            for name in self._names.keys() & payload.split(","):
                self._wake(self._names[name])


async def keep_trying(call: Callable[[], Awaitable[None]], watch: Watch | None = None) -> NoReturn:
    """Call for ever. An error of ours, such as a broken connection, only delays the next call."""
    while True:
        try:
            await call()
        except errors.FojaError as error:
            if watch:
                watch.failed(error)
        await asyncio.sleep(RECONNECT_SECONDS)


def name_of(topic: Topic) -> str:
    """Return a topic as other processes see it: neither the tenant nor the stream can be read from it."""
    if topic is None:
        return LOG
    tenant, stream = topic
    return str(derived_id(NAME, tenant.encode(), stream.bytes))
