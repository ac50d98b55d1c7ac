"""How chunks travel between processes: by notifications, or by Redis where there is one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import count

import redis.asyncio as redis
from redis.exceptions import RedisError

from foja import sql
from foja.errors import LedgerUnavailable
from foja.ledger.deltas import Hear
from foja.sql.database import Connection, connect, our_errors

BEAT = 5.0
PIECE = 7_800  # PostgreSQL takes less than 8,000 bytes; the label needs some


class Notices:
    """Carries texts by PostgreSQL's notifications; a long one in pieces."""

    def __init__(self, url: str, role: str) -> None:
        self._url, self._role = url, role
        self._sender: Connection | None = None
        self._batches = count()

    async def send(self, texts: list[str]) -> None:
        with our_errors():
            try:
                if self._sender is None:
                    self._sender = await connect(self._url, self._role)
                pieces = [piece for text in texts for piece in cut(next(self._batches), text)]
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

    async def close(self) -> None:
        if self._sender:
            self._sender.pgconn.finish()
            self._sender = None


class Channel:
    """Carries texts by a channel of Redis."""

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self._name = f"foja:deltas:{name}"
        self._sender = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._listener = redis.Redis.from_url(url, health_check_interval=BEAT)

    async def send(self, texts: list[str]) -> None:
        with _our_errors():
            for text in texts:
                await self._sender.publish(self._name, text)

    async def listen(self, hear: Hear) -> None:
        with _our_errors():
            async with self._listener.pubsub(ignore_subscribe_messages=True) as channel:
                await channel.subscribe(self._name)
                while True:
                    # With a timeout: each time, it also asks whether the other end is still there.
                    if message := await channel.get_message(timeout=BEAT):
                        hear(message["data"].decode())

    async def close(self) -> None:
        for client in (self._sender, self._listener):
            with contextlib.suppress(RedisError, OSError):
                await client.aclose()


def cut(batch: int, text: str) -> Iterator[str]:
    """Yield a text (ASCII) in pieces that fit, each labelled with its place."""
    total = max(1, -(-len(text) // PIECE))
    for part in range(total):
        yield f"{batch}/{part}/{total}:{text[part * PIECE : (part + 1) * PIECE]}"


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
            f"Redis does not carry chunks now ({error}); they are lost, events are not"
        ) from error
