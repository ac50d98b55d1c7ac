"""What is said in passing, between processes. It is never stored and never replayed.

In this process it is heard at once. To the others it travels in batches, one per
conversation: the first at once, then one for everything of the last 25 ms. Whoever
misses one sees the persisted event instead; so nobody waits here, and the oldest is
dropped first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from foja.errors import FojaError, TooLarge
from foja.ledger.event import Transient
from foja.ledger.live.notifier import Notifier

PAUSE_SECONDS = 0.025
RECONNECT_SECONDS = 0.2
MAX_BYTES = 65_536
MAX_WAITING = 4_096
MAX_SENDERS = 1_024

Hear = Callable[[str], None]


class PubSub(Protocol):
    """Brings texts to the other processes, in order, or loses them."""

    async def send(self, texts: Mapping[UUID, str]) -> None:
        """Send a text about each of these conversations; raise one of our errors if it cannot be done."""

    async def listen(self, hear: Hear) -> None:
        """Hand over what others send until it fails; what it raises is ours."""

    def want(self, entity_id: UUID) -> None:
        """Bring what is said about this conversation too."""

    def leave(self, entity_id: UUID) -> None:
        """Nobody here follows this conversation any more."""

    async def close(self) -> None:
        """Leave nothing open."""


class Transients:
    """Sends and receives what is said in passing, for one tenant."""

    def __init__(self, carrier: PubSub, notifier: Notifier, tenant: str) -> None:
        self._carrier, self._notifier, self._tenant = carrier, notifier, tenant
        self._name = uuid4().hex[:12]
        self._batch = 0
        self._followed: Counter[UUID] = Counter()
        self._voices: OrderedDict[str, int] = OrderedDict()  # the last batch heard of each process
        self._waiting: deque[Transient] = deque(maxlen=MAX_WAITING)
        self._due = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    def emit(self, transient: Transient) -> None:
        """Say something in passing: here at once, elsewhere soon."""
        size = len(json.dumps(transient.payload, ensure_ascii=False).encode())
        if size > MAX_BYTES:
            raise TooLarge(f"a chunk has {size:,} bytes; at most {MAX_BYTES:,}: send it in several")
        self._notifier.pass_on(transient)
        self._waiting.append(transient)
        self._due.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    @contextlib.contextmanager
    def hearing(self, entity_id: UUID) -> Iterator[None]:
        """Hear the other processes about a conversation while somebody here follows it."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        self._followed[entity_id] += 1
        self._carrier.want(entity_id)
        try:
            yield
        finally:
            self._followed[entity_id] -= 1
            if not self._followed[entity_id]:
                del self._followed[entity_id]
                self._carrier.leave(entity_id)

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
            with contextlib.suppress(FojaError):
                await self._carrier.send(self._parcels())
            await asyncio.sleep(PAUSE_SECONDS)

    def _parcels(self) -> dict[UUID, str]:
        """Return what waits, as a text for each conversation."""
        said: defaultdict[UUID, list[Transient]] = defaultdict(list)
        for each in self._waiting:
            said[each.entity_id].append(each)
        self._waiting.clear()
        self._batch += 1
        return {entity: pack(self._name, self._batch, self._tenant, each) for entity, each in said.items()}

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(FojaError):
                await self._carrier.listen(self._hear)
            await asyncio.sleep(RECONNECT_SECONDS)

    def _hear(self, text: str) -> None:
        # Whoever may connect may also send; what is not ours is not heard.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            name, batch, tenant, said = json.loads(text)
            chunks = [unpack(each) for each in said]
            if chunks and tenant == self._tenant and name != self._name:
                self._hear_once(f"{name}:{chunks[0].entity_id}", int(batch), chunks)

    def _hear_once(self, voice: str, batch: int, chunks: list[Transient]) -> None:
        """Pass chunks on, unless they came before on another way, or later ones did."""
        if batch <= self._voices.get(voice, 0):
            return
        self._voices[voice] = batch
        self._voices.move_to_end(voice)
        if len(self._voices) > MAX_SENDERS:
            self._voices.popitem(last=False)
        for chunk in chunks:
            self._notifier.pass_on(chunk)


def pack(name: str, batch: int, tenant: str, said: list[Transient]) -> str:
    """Return some chunks as the text that travels."""
    return json.dumps([name, batch, tenant, [each.envelope() for each in said]], separators=(",", ":"))


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
