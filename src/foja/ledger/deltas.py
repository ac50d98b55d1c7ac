"""What is said in passing, between processes. It is never stored and never replayed.

In this process it is heard at once. To the others it travels in batches: the first
at once, then one for everything of the last 25 ms. Whoever misses one sees the
persisted event instead; so nobody waits here, and the oldest is dropped first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from foja.errors import FojaError, TooLarge
from foja.ledger.event import Transient
from foja.ledger.hints import Hints

PAUSE = 0.025
AGAIN = 0.2
LARGEST = 65_536
MOST_WAITING = 4_096

Hear = Callable[[str], None]


class Carrier(Protocol):
    """Brings texts to the other processes, in order, or loses them."""

    async def send(self, texts: list[str]) -> None:
        """Send these texts; raise one of our errors if it cannot be done."""

    async def listen(self, hear: Hear) -> None:
        """Hand over what others send until it fails; what it raises is ours."""

    async def close(self) -> None:
        """Leave nothing open."""


class Deltas:
    """Sends and receives what is said in passing, for one tenant."""

    def __init__(self, carrier: Carrier, hints: Hints, tenant: str) -> None:
        self._carrier, self._hints, self._tenant = carrier, hints, tenant
        self._name = uuid4().hex[:12]
        self._waiting: deque[Transient] = deque(maxlen=MOST_WAITING)
        self._due = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    def emit(self, transient: Transient) -> None:
        """Say something in passing: here at once, elsewhere soon."""
        size = len(json.dumps(transient.payload, ensure_ascii=False).encode())
        if size > LARGEST:
            raise TooLarge(f"a chunk has {size:,} bytes; at most {LARGEST:,}: send it in several")
        self._hints.pass_on(transient)
        self._waiting.append(transient)
        self._due.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    def listen(self) -> None:
        """Hear the other processes, from the first time on that anybody here follows."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        """End both tasks."""
        tasks = [task for task in (self._sending, self._listening) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._carrier.close()

    async def _send(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            said = list(self._waiting)
            self._waiting.clear()
            with contextlib.suppress(FojaError):
                await self._carrier.send([pack(self._name, self._tenant, said)])
            await asyncio.sleep(PAUSE)

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(FojaError):
                await self._carrier.listen(self._hear)
            await asyncio.sleep(AGAIN)

    def _hear(self, text: str) -> None:
        # Whoever may connect may also send; what is not ours is not heard.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            name, tenant, said = json.loads(text)
            if tenant == self._tenant and name != self._name:
                for each in said:
                    self._hints.pass_on(unpack(each))


def pack(name: str, tenant: str, said: list[Transient]) -> str:
    """Return some chunks as the text that travels."""
    return json.dumps([name, tenant, [each.envelope() for each in said]], separators=(",", ":"))


def unpack(envelope: dict[str, Any]) -> Transient:
    """Return a chunk from its form on the wire."""
    return Transient(
        UUID(envelope["entity_id"]),
        UUID(envelope["id"]),
        envelope["kind"],
        datetime.fromisoformat(envelope["at"]),
        envelope["turn"],
        envelope["block_index"],
        envelope["event_index"],
        envelope["payload"],
        envelope["v"],
    )
