"""The rows that are checked, and a reader that looks one row ahead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from foja.pure.core.chain import leaf_entry

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class StreamRow:
    """The row of a stream."""

    entity_id: UUID
    domain: str
    tenant: str
    lane: str
    next_seq: int
    sealed: int
    head: bytes


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event as it is stored. `witnessed` means that its erasure was recorded."""

    entity_id: UUID
    seq: int
    event_id: UUID
    kind: str
    v: int
    at_us: int | None
    actor: str | None
    source: str
    payload: str | None
    salt: bytes | None
    body_hash: bytes
    key: str | None
    tenant: str
    witnessed: bool


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """Another record about a number: leaf, pending, unsealed, or a slot state."""

    entity_id: UUID
    seq: int
    what: str
    origin: int | None
    idx: int | None
    chain_hash: bytes | None

    def __str__(self) -> str:
        return f"leaf {self.idx} of log {self.origin}" if self.what == "leaf" else "the outbox"


@dataclass(frozen=True, slots=True)
class LeafRow:
    """One leaf of a log."""

    idx: int
    entity_id: UUID
    seq: int
    chain_hash: bytes

    def entry(self) -> bytes:
        """Return its entry in the tree."""
        return leaf_entry(self.entity_id, self.seq, self.chain_hash)


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One signed checkpoint of a log."""

    size: int
    root: bytes
    frontier: bytes
    note: str


class Ahead(Generic[Item]):
    """An iterator that can peek at its next item."""

    def __init__(self, items: AsyncIterator[Item]) -> None:
        self._items = items
        self.next: Item | None = None

    @classmethod
    async def of(cls, items: AsyncIterator[Item]) -> Ahead[Item]:
        """Return an iterator whose `next` is the first item."""
        stream = cls(items)
        stream.next = await anext(items, None)
        return stream

    async def take(self) -> Item:
        """Return the next item and read the one after it."""
        item = self.next
        assert item is not None
        self.next = await anext(self._items, None)
        return item
