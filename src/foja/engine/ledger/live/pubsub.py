"""Transport of transients between processes by PostgreSQL notifications.

There is one channel for all conversations: every listening process gets every notification.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import count

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from foja.engine import sql
from foja.engine.driver.connection import ANSWER_SECONDS
from foja.engine.driver.database import Connection, connect, our_errors
from foja.engine.ledger.live.transient import Receive, StreamKey

LABEL = b"foja/transients/v1"
NONCE_BYTES = 12
MAX_PARTS = 4_096  # of one text: 32 MB, more than a sender lets wait
MAX_NOTIFY_BYTES = 7_800  # PostgreSQL accepts less than 8,000 bytes; the label needs some


class PostgresPubSub:
    """Sends texts as PostgreSQL notifications, sealed and split into parts.

    Any login of the server can listen to a channel and send to it. So a text is sealed with a key of the
    database that only the role of this process may read; what was not sealed with it is ignored.
    """

    def __init__(self, url: str, role: str, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._connect = partial(connect, url, role, answer_seconds=answer_seconds)
        self._sender: Connection | None = None
        self._key = b""
        self._batches = count()

    async def send(self, texts: Mapping[StreamKey, str]) -> None:
        with our_errors():
            try:
                if self._sender is None:
                    self._sender = await self._connect()
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
        connection = await self._connect()
        try:
            with our_errors():
                key, joiner = await _read_key(connection), Joiner()
                await connection.execute(sql.query("listen_transients"))
                async for notification in connection.notifications():
                    with contextlib.suppress(ValueError, InvalidTag):  # not sent by Foja
                        if sealed := joiner.add(notification.pid, notification.payload):
                            receive(unseal(key, sealed))
        finally:
            connection.pgconn.finish()

    async def close(self) -> None:
        if self._sender:
            self._sender.pgconn.finish()
            self._sender = None


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
