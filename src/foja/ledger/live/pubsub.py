"""How chunks travel between processes: by Redis where there is one and it answers, else by notifications.

Redis has a channel per conversation, and a process subscribes to those somebody there
follows. PostgreSQL has one for all: a notification wakes whoever listens to anything.
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
from foja.ledger.live.transient import RECONNECT_SECONDS, Hear, PubSub

HEARTBEAT_SECONDS = 5.0
AWAY = 1.0  # seconds until a Redis that did not answer is tried again
MAX_NOTIFY_BYTES = 7_800  # PostgreSQL takes less than 8,000 bytes; the label needs some


class PostgresPubSub:
    """Carries texts by PostgreSQL's notifications; a long one in pieces."""

    def __init__(self, url: str, role: str) -> None:
        self._url, self._role = url, role
        self._sender: Connection | None = None
        self._batches = count()

    async def send(self, texts: Mapping[UUID, str]) -> None:
        with our_errors():
            try:
                if self._sender is None:
                    self._sender = await connect(self._url, self._role)
                pieces = [piece for text in texts.values() for piece in cut(next(self._batches), text)]
                await self._sender.execute(sql.query("send_deltas"), {"pieces": pieces})
            except BaseException:
                await self.close()
                raise

    async def listen(self, hear: Hear) -> None:
        connection = await connect(self._url, self._role)
        try:
            with our_errors():
                await connection.execute(sql.query("listen_deltas"))
                join = Joiner()
                async for notice in connection.notifies():
                    with contextlib.suppress(ValueError):  # somebody else's words
                        if text := join.add(notice.pid, notice.payload):
                            hear(text)
        finally:
            connection.pgconn.finish()

    def want(self, entity_id: UUID) -> None:
        """Do nothing: whatever is said is heard."""

    def leave(self, entity_id: UUID) -> None:
        """Do nothing either."""

    async def close(self) -> None:
        if self._sender:
            self._sender.pgconn.finish()
            self._sender = None


class RedisPubSub:
    """Carries texts by Redis, on a channel for each conversation."""

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

    async def listen(self, hear: Hear) -> None:
        with _our_errors():
            async with self._listener.pubsub(ignore_subscribe_messages=True) as channels:
                await channels.subscribe(self._name)  # nothing comes here: it is there to be read from
                keeping = asyncio.create_task(self._keep_subscribed(channels))
                try:
                    while not keeping.done():
                        # With a timeout: each time, it also asks whether the other end is still there.
                        if message := await channels.get_message(timeout=HEARTBEAT_SECONDS):
                            hear(message["data"].decode())
                finally:
                    keeping.cancel()
                    await asyncio.gather(keeping, return_exceptions=True)

    def want(self, entity_id: UUID) -> None:
        self._wanted.add(self._channel(entity_id))
        self._changed.set()

    def leave(self, entity_id: UUID) -> None:
        self._wanted.discard(self._channel(entity_id))
        self._changed.set()

    async def close(self) -> None:
        for client in (self._sender, self._listener):
            with contextlib.suppress(RedisError, OSError):
                await client.aclose()

    def _channel(self, entity_id: UUID) -> str:
        return f"{self._name}:{entity_id.hex}"

    async def _keep_subscribed(self, channels: RedisSubscription) -> None:
        """Subscribe to what is wanted, and to nothing else, for as long as it lasts."""
        have: set[str] = set()
        while True:
            self._changed.clear()
            wanted = set(self._wanted)
            if new := wanted - have:
                await channels.subscribe(*new)
            if old := have - wanted:
                await channels.unsubscribe(*old)
            have = wanted
            await self._changed.wait()


class FallbackPubSub:
    """Carries texts by the first carrier, and by the second while the first one fails. Hears both."""

    def __init__(self, first: PubSub, second: PubSub) -> None:
        self._first, self._second = first, second
        self._back = 0.0

    async def send(self, texts: Mapping[UUID, str]) -> None:
        clock = asyncio.get_running_loop().time
        if clock() >= self._back:
            try:
                await self._first.send(texts)
            except LedgerUnavailable:
                self._back = clock() + AWAY
            else:
                return
        await self._second.send(texts)

    async def listen(self, hear: Hear) -> None:
        await asyncio.gather(*(_listen_always(each, hear) for each in (self._first, self._second)))

    def want(self, entity_id: UUID) -> None:
        for each in (self._first, self._second):
            each.want(entity_id)

    def leave(self, entity_id: UUID) -> None:
        for each in (self._first, self._second):
            each.leave(entity_id)

    async def close(self) -> None:
        await self._first.close()
        await self._second.close()


async def _listen_always(carrier: PubSub, hear: Hear) -> None:
    while True:
        with contextlib.suppress(FojaError):
            await carrier.listen(hear)
        await asyncio.sleep(RECONNECT_SECONDS)


def cut(batch: int, text: str) -> Iterator[str]:
    """Yield a text (ASCII) in pieces that fit, each labelled with its place."""
    total = max(1, -(-len(text) // MAX_NOTIFY_BYTES))
    for part in range(total):
        yield f"{batch}/{part}/{total}:{text[part * MAX_NOTIFY_BYTES : (part + 1) * MAX_NOTIFY_BYTES]}"


class Joiner:
    """Puts pieces together again. One sender's come in order, or some never come."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[str, list[str]]] = {}

    def add(self, sender: int, piece: str) -> str | None:
        """Return a whole text if this piece was its last."""
        label, _, body = piece.partition(":")
        batch, part, total = label.split("/")
        known, parts = self._parts.pop(sender, (batch, []))
        if known != batch or len(parts) != int(part):
            if int(part):
                return None  # its beginning was never heard
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
            f"Redis does not carry chunks now ({error}); notifications do meanwhile"
        ) from error
