"""Transients between processes. They are never stored and never replayed.

In this process they are delivered at once. To other processes they are sent in batches,
one per conversation: the first at once, then one for everything of the last 25 ms. A
reader that misses one gets the persisted event instead; so senders never wait, and the
oldest transient is dropped first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeAlias
from uuid import UUID, uuid4

from foja.engine.ledger.event import Transient
from foja.engine.ledger.live.notifier import Notifier, keep_trying
from foja.engine.tasks import end
from foja.errors import FojaError, LedgerUnavailable, TooLarge

PAUSE_SECONDS = 0.025
MAX_BYTES = 65_536
MAX_WAITING = 4_096
MAX_SENDERS = 1_024

Receive = Callable[[str], None]
StreamKey: TypeAlias = tuple[str, UUID]  # tenant and stream


class PubSub(Protocol):
    """Sends texts to the other processes, in order. Some may be lost."""

    async def send(self, texts: Mapping[StreamKey, str]) -> None:
        """Send a text about each of these conversations. Raise one of our errors if that fails."""

    async def listen(self, receive: Receive, followed: Collection[StreamKey], changed: asyncio.Event) -> None:
        """Call `receive` with the texts of other processes about the followed conversations.

        `changed` is set whenever these are others. Raise one of our errors if listening fails.
        """

    async def close(self) -> None:
        """Close all connections."""


class Transients:
    """The transients of all tenants. Listens to all transports; sends through the first that answers."""

    def __init__(self, transports: Sequence[PubSub], notifier: Notifier) -> None:
        self._transports, self._notifier = transports, notifier
        self._name = uuid4().hex[:12]
        self._batch = 0
        self._followed: Counter[StreamKey] = Counter()
        self._changed = asyncio.Event()
        self._senders: OrderedDict[str, int] = OrderedDict()  # the last batch of each sender
        self._waiting: deque[tuple[str, Transient]] = deque(maxlen=MAX_WAITING)
        self._due = asyncio.Event()
        self._sending: list[asyncio.Task[None]] = []
        self._listening: list[asyncio.Task[None]] = []
        self._closed = False

    def emit(self, tenant: str, transient: Transient) -> None:
        """Deliver a transient of a tenant: in this process at once, in others soon."""
        size = len(json.dumps(transient.payload, ensure_ascii=False).encode())
        if size > MAX_BYTES:
            raise TooLarge(f"a transient has {size:,} bytes, the limit is {MAX_BYTES:,}; send several")
        self._notifier.deliver(tenant, transient)
        if self._closed:  # an append that was under way failed: the connection would never be closed
            return
        self._waiting.append((tenant, transient))
        self._due.set()
        if not self._sending:
            self._sending = [asyncio.create_task(self._send())]

    @contextlib.contextmanager
    def hearing(self, tenant: str, entity_id: UUID) -> Iterator[None]:
        """Receive the transients of other processes about a tenant's conversation meanwhile."""
        key = tenant, entity_id
        if not self._listening:
            values = (self._receive, self._followed, self._changed)
            listens = [partial(each.listen, *values) for each in self._transports]
            self._listening = [asyncio.create_task(keep_trying(listen)) for listen in listens]
        self._followed[key] += 1
        self._changed.set()
        try:
            yield
        finally:
            self._followed[key] -= 1
            if not self._followed[key]:
                del self._followed[key]
                self._changed.set()

    async def close(self) -> None:
        """End all tasks and close all connections."""
        self._closed = True
        await end([*self._sending, *self._listening])
        for transport in self._transports:
            await transport.close()

    async def _send(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            with contextlib.suppress(FojaError):
                await self._send_batch(self._take_batch())
            await asyncio.sleep(PAUSE_SECONDS)

    async def _send_batch(self, texts: Mapping[StreamKey, str]) -> None:
        for transport in self._transports:
            with contextlib.suppress(LedgerUnavailable):
                await transport.send(texts)
                return

    def _take_batch(self) -> dict[StreamKey, str]:
        """Return the waiting transients, as one text for each conversation."""
        waiting: defaultdict[StreamKey, list[Transient]] = defaultdict(list)
        for tenant, each in self._waiting:
            waiting[tenant, each.entity_id].append(each)
        self._waiting.clear()
        self._batch += 1
        return {key: pack(self._name, self._batch, key[0], each) for key, each in waiting.items()}

    def _receive(self, text: str) -> None:
        # Any client of the server may send; a text of another form is ignored.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            name, batch, tenant, envelopes = json.loads(text)
            transients = [unpack(each) for each in envelopes]
            if transients and name != self._name:
                self._deliver_once(name, int(batch), str(tenant), transients)

    def _deliver_once(self, name: str, batch: int, tenant: str, transients: list[Transient]) -> None:
        """Deliver a batch, unless it or a later one has arrived through the other transport."""
        sender = f"{name}:{transients[0].entity_id}:{tenant}"
        if batch <= self._senders.get(sender, 0):
            return
        self._senders[sender] = batch
        self._senders.move_to_end(sender)
        if len(self._senders) > MAX_SENDERS:
            self._senders.popitem(last=False)
        for transient in transients:
            self._notifier.deliver(tenant, transient)


def pack(name: str, batch: int, tenant: str, transients: list[Transient]) -> str:
    """Return a batch of transients as text."""
    return json.dumps([name, batch, tenant, [each.envelope() for each in transients]], separators=(",", ":"))


def unpack(envelope: dict[str, Any]) -> Transient:
    """Return a transient from its envelope."""
    return Transient(
        UUID(envelope["entity_id"]),
        UUID(envelope["id"]),
        envelope["kind"],
        datetime.fromisoformat(envelope["at"]),
        *(envelope[name] for name in ("turn", "block_index", "event_index", "payload", "v")),
    )
