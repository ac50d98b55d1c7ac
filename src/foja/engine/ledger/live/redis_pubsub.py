"""Transport of transients between processes through Redis, while it answers.

Redis has a channel per conversation, and a process subscribes to those that are followed in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping

import redis.asyncio as redis
from redis.asyncio.client import PubSub as RedisSubscription

from foja.engine.driver.database import our_errors
from foja.engine.ledger.live.notifier import name_of
from foja.engine.ledger.live.transient import Receive, StreamKey
from foja.engine.tasks import end
from foja.errors import LedgerUnavailable

HEARTBEAT_SECONDS = 5.0
RETRY_SECONDS = 1.0  # before a Redis that did not answer is tried again
ANY = (Exception,)  # an answer that Redis never gives counts as no answer


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


def _unavailable(error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(f"Redis does not answer ({error}); notifications are used meanwhile")
