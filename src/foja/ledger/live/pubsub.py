"""Transport of transients between processes: Redis if it answers, else PostgreSQL notifications.

Redis has a channel per conversation, and a process subscribes to those that are followed
in it. PostgreSQL has one channel for all: every listening process gets every notification.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from itertools import count
from uuid import UUID

import redis.asyncio as redis
from redis.asyncio.client import PubSub as RedisSubscription
from redis.exceptions import RedisError

from foja import sql
from foja.driver.database import Connection, connect, our_errors
from foja.errors import FojaError, LedgerUnavailable
from foja.ledger.live.transient import RECONNECT_SECONDS, PubSub, Receive

HEARTBEAT_SECONDS = 5.0
RETRY_SECONDS = 1.0  # before a Redis that did not answer is tried again
MAX_NOTIFY_BYTES = 7_800  # PostgreSQL accepts less than 8,000 bytes; the label needs some


class PostgresPubSub:
    """Sends texts as PostgreSQL notifications. A long text is split into parts."""

    def __init__(self, url: str, role: str) -> None:
        self._url, self._role = url, role
        self._sender: Connection | None = None
        self._batches = count()

    async def send(self, texts: Mapping[UUID, str]) -> None:
        with our_errors():
            try:
                if self._sender is None:
                    self._sender = await connect(self._url, self._role)
                parts = [part for text in texts.values() for part in split(next(self._batches), text)]
                await self._sender.execute(sql.query("send_transients"), {"parts": parts})
            except BaseException:
                await self.close()
                raise

    async def listen(self, receive: Receive) -> None:
        connection = await connect(self._url, self._role)
        try:
            with our_errors():
                await connection.execute(sql.query("listen_transients"))
                joiner = Joiner()
                async for notification in connection.notifies():
                    with contextlib.suppress(ValueError):  # not sent by Foja
                        if text := joiner.add(notification.pid, notification.payload):
                            receive(text)
        finally:
            connection.pgconn.finish()

    def subscribe(self, entity_id: UUID) -> None:
        """Do nothing: there is one channel for all conversations."""

    def unsubscribe(self, entity_id: UUID) -> None:
        """Do nothing, for the same reason."""

    async def close(self) -> None:
        if self._sender:
            self._sender.pgconn.finish()
            self._sender = None


class RedisPubSub:
    """Sends texts through Redis, on one channel per conversation."""

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self._name = f"foja:deltas:{name}"
        self._wanted: set[str] = set()
        self._changed = asyncio.Event()
        self._sender = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._listener = redis.Redis.from_url(url, health_check_interval=HEARTBEAT_SECONDS)

    async def send(self, texts: Mapping[UUID, str]) -> None:
        with _our_errors():
            for entity_id, text in texts.items():
                await self._sender.publish(self._channel(entity_id), text)

    async def listen(self, receive: Receive) -> None:
        with _our_errors():
            async with self._listener.pubsub(ignore_subscribe_messages=True) as channels:
                await channels.subscribe(self._name)  # an unused channel: reading needs at least one
                subscribing = asyncio.create_task(self._keep_subscribed(channels))
                try:
                    while not subscribing.done():
                        # The timeout also triggers a check of the connection.
                        if message := await channels.get_message(timeout=HEARTBEAT_SECONDS):
                            receive(message["data"].decode())
                finally:
                    subscribing.cancel()
                    await asyncio.gather(subscribing, return_exceptions=True)

    def subscribe(self, entity_id: UUID) -> None:
        self._wanted.add(self._channel(entity_id))
        self._changed.set()

    def unsubscribe(self, entity_id: UUID) -> None:
        self._wanted.discard(self._channel(entity_id))
        self._changed.set()

    async def close(self) -> None:
        for client in (self._sender, self._listener):
            with contextlib.suppress(RedisError, OSError):
                await client.aclose()

    def _channel(self, entity_id: UUID) -> str:
        return f"{self._name}:{entity_id.hex}"

    async def _keep_subscribed(self, channels: RedisSubscription) -> None:
        """Subscribe to the wanted channels and unsubscribe from the others, for ever."""
        current: set[str] = set()
        while True:
            self._changed.clear()
            wanted = set(self._wanted)
            if new := wanted - current:
                await channels.subscribe(*new)
            if old := current - wanted:
                await channels.unsubscribe(*old)
            current = wanted
            await self._changed.wait()


class FallbackPubSub:
    """Sends texts through the first transport, or the second while the first fails. Listens to both."""

    def __init__(self, first: PubSub, second: PubSub) -> None:
        self._first, self._second = first, second
        self._retry_at = 0.0

    async def send(self, texts: Mapping[UUID, str]) -> None:
        clock = asyncio.get_running_loop().time
        if clock() >= self._retry_at:
            try:
                await self._first.send(texts)
            except LedgerUnavailable:
                self._retry_at = clock() + RETRY_SECONDS
            else:
                return
        await self._second.send(texts)

    async def listen(self, receive: Receive) -> None:
        await asyncio.gather(*(_keep_listening(each, receive) for each in (self._first, self._second)))

    def subscribe(self, entity_id: UUID) -> None:
        for each in (self._first, self._second):
            each.subscribe(entity_id)

    def unsubscribe(self, entity_id: UUID) -> None:
        for each in (self._first, self._second):
            each.unsubscribe(entity_id)

    async def close(self) -> None:
        await self._first.close()
        await self._second.close()


async def _keep_listening(pubsub: PubSub, receive: Receive) -> None:
    while True:
        with contextlib.suppress(FojaError):
            await pubsub.listen(receive)
        await asyncio.sleep(RECONNECT_SECONDS)


def split(batch: int, text: str) -> Iterator[str]:
    """Yield an ASCII text in parts that fit into notifications, each labelled with its index."""
    total = max(1, -(-len(text) // MAX_NOTIFY_BYTES))
    for part in range(total):
        yield f"{batch}/{part}/{total}:{text[part * MAX_NOTIFY_BYTES : (part + 1) * MAX_NOTIFY_BYTES]}"


class Joiner:
    """Joins the parts of texts. The parts of one sender arrive in order, or some are lost."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[str, list[str]]] = {}

    def add(self, sender: int, labelled: str) -> str | None:
        """Add a part. Return the whole text if this was its last part."""
        label, _, body = labelled.partition(":")
        batch, part, total = label.split("/")
        known, parts = self._parts.pop(sender, (batch, []))
        if known != batch or len(parts) != int(part):
            if int(part):
                return None  # an earlier part was lost
            parts = []
        parts.append(body)
        if len(parts) == int(total):
            return "".join(parts)
        self._parts[sender] = (batch, parts)
        return None


@contextlib.contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise asyncio.CancelledError from error
        raise LedgerUnavailable(
            f"Redis does not answer ({error}); notifications are used meanwhile"
        ) from error
