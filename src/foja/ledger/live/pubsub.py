"""Transport of transients between processes: Redis if it answers, else PostgreSQL notifications.

Redis has a channel per conversation, and a process subscribes to those that are followed
in it. PostgreSQL has one channel for all: every listening process gets every notification.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from itertools import count

import redis.asyncio as redis
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from redis.asyncio.client import PubSub as RedisSubscription

from foja import sql
from foja.driver.database import Connection, connect, our_errors
from foja.errors import LedgerUnavailable
from foja.ledger.live.notifier import name_of
from foja.ledger.live.transient import Receive, StreamKey
from foja.tasks import end

HEARTBEAT_SECONDS = 5.0
RETRY_SECONDS = 1.0  # before a Redis that did not answer is tried again
LABEL = b"foja/transients/v1"
NONCE_BYTES = 12
MAX_PARTS = 4_096  # of one text: 32 MB, more than a sender lets wait
ANY = (Exception,)  # an answer that Redis never gives counts as no answer
MAX_NOTIFY_BYTES = 7_800  # PostgreSQL accepts less than 8,000 bytes; the label needs some


class PostgresPubSub:
    """Sends texts as PostgreSQL notifications, sealed and split into parts.

    Any login of the server can listen to a channel and send to it. So a text is sealed with a key of the
    database that only the role of this process may read; what was not sealed with it is ignored.
    """

    def __init__(self, url: str, role: str) -> None:
        self._url, self._role = url, role
        self._sender: Connection | None = None
        self._key = b""
        self._batches = count()

    async def send(self, texts: Mapping[StreamKey, str]) -> None:
        with our_errors():
            try:
                if self._sender is None:
                    self._sender = await connect(self._url, self._role)
                    self._key = await _read_key(self._sender)
                sealed = [seal(self._key, text) for text in texts.values()]
                parts = [part for text in sealed for part in split(next(self._batches), text)]
                await self._sender.execute(sql.query("send_transients"), {"parts": parts})
            except BaseException:
                await self.close()
                raise

    async def listen(
        self, receive: Receive, _followed: Collection[StreamKey], _changed: asyncio.Event
    ) -> None:
        """Receive everything: there is one channel for all conversations."""
        connection = await connect(self._url, self._role)
        try:
            with our_errors():
                key, joiner = await _read_key(connection), Joiner()
                await connection.execute(sql.query("listen_transients"))
                async for notification in connection.notifies():
                    with contextlib.suppress(ValueError, InvalidTag):  # not sent by Foja
                        if sealed := joiner.add(notification.pid, notification.payload):
                            receive(unseal(key, sealed))
        finally:
            connection.pgconn.finish()

    async def close(self) -> None:
        if self._sender:
            self._sender.pgconn.finish()
            self._sender = None


class RedisPubSub:
    """Sends texts through Redis, on one channel per conversation."""

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self._name = f"foja:transients:{name}"
        self._retry_at = 0.0
        self._sender = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._listener = redis.Redis.from_url(
            url, socket_connect_timeout=timeout, health_check_interval=HEARTBEAT_SECONDS
        )

    async def send(self, texts: Mapping[StreamKey, str]) -> None:
        clock = asyncio.get_running_loop().time
        if clock() < self._retry_at:
            raise LedgerUnavailable("Redis did not answer a moment ago; notifications are used meanwhile")
        try:
            with our_errors(ANY, _unavailable):
                for key, text in texts.items():
                    await self._sender.publish(self._channel(key), text)
        except LedgerUnavailable:
            self._retry_at = clock() + RETRY_SECONDS
            raise

    async def listen(self, receive: Receive, followed: Collection[StreamKey], changed: asyncio.Event) -> None:
        with our_errors(ANY, _unavailable):
            async with self._listener.pubsub(ignore_subscribe_messages=True) as channels:
                await channels.subscribe(self._name)  # an unused channel: reading needs at least one
                subscribing = asyncio.create_task(self._keep_subscribed(channels, followed, changed))
                try:
                    while not subscribing.done():
                        # The timeout also triggers a check of the connection.
                        if message := await channels.get_message(timeout=HEARTBEAT_SECONDS):
                            receive(message["data"].decode())
                finally:
                    await end([subscribing])

    async def close(self) -> None:
        for client in (self._sender, self._listener):
            with contextlib.suppress(Exception):
                await client.aclose()

    def _channel(self, key: StreamKey) -> str:
        return f"{self._name}:{name_of(key)}"

    async def _keep_subscribed(
        self, channels: RedisSubscription, followed: Collection[StreamKey], changed: asyncio.Event
    ) -> None:
        """Subscribe to the followed conversations and unsubscribe from the others, until it is cancelled."""
        task, current = asyncio.current_task(), set[str]()
        changed.set()
        # The client may lose a cancellation that arrives as its command ends (`wait_for` of Python 3.11).
        while task and not task.cancelling():
            await changed.wait()
            changed.clear()
            wanted = {self._channel(key) for key in followed}
            if new := wanted - current:
                await channels.subscribe(*new)
            if old := current - wanted:
                await channels.unsubscribe(*old)
            current = wanted


async def _read_key(connection: Connection) -> bytes:
    row = await (await connection.execute(sql.query("live_key"))).fetchone()
    return bytes(row[0]) if row else b""


def seal(key: bytes, text: str) -> str:
    """Return a text encrypted and authenticated (AES-GCM), as ASCII."""
    nonce = os.urandom(NONCE_BYTES)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, text.encode(), LABEL)).decode()


def unseal(key: bytes, sealed: str) -> str:
    """Return the text that was sealed. Raise `ValueError` or `InvalidTag` if it was not, with this key."""
    data = base64.b64decode(sealed, validate=True)
    return AESGCM(key).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], LABEL).decode()


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
        if int(total) > MAX_PARTS:
            raise ValueError("too many parts")
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


def _unavailable(error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(f"Redis does not answer ({error}); notifications are used meanwhile")
