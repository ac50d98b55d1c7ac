"""Where the channels of a state are held: in which event, and resting on which others.

A list that grew, or changed near its end, is stored as what is new in it and rests on the
event before: `keep` so many items of what stands `after`, then these `items`. So a chat of n
messages takes n messages, not n²/2. A value too large for one event rests on the pieces
before it in the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from foja.errors import Refused
from foja.integrations.langgraph.codec import Cell, PackedValue, pack, packed, unpack

MAX_VALUE_BYTES = 700_000  # for the values in one event, which may have a megabyte in all
SPILL_BYTES = 500_000
SLACK = 64
Spill = Callable[[Cell], Awaitable[int]]
Found = Mapping[tuple[str, int], Any]


@dataclass(frozen=True, slots=True)
class Held:
    """The value of a channel: its version, the event that holds it, its items if it is a list.

    `stored` counts the items of every event it rests on: too many, and it is stored whole again.
    """

    version: Any
    seq: int
    items: tuple[bytes, ...] | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Storing:
    """A value about to be stored: the cell for the checkpoint's own event, or where it went before."""

    cell: Cell | None
    seq: int | None
    items: tuple[bytes, ...] | None = None
    stored: int = 0
    size: int = 0

    def held(self, version: Any, seq: int) -> Held:
        """Return where the value is, once its checkpoint has a number."""
        return Held(version, seq if self.seq is None else self.seq, self.items, self.stored)


async def store(serde: SerializerProtocol, value: Any, base: Held | None, room: int, spill: Spill) -> Storing:
    """Return how a value is to be stored; what does not fit into `room` bytes is spilled."""
    if type(value) is list and value:
        return await _store_list(serde, value, base, room, spill)
    if type(value) is _DeltaSnapshot and type(value.value) is list and value.value:
        return await _store_list(serde, value.value, base, room, spill, snapshot=True)
    found = pack(serde, value)
    if found.size <= room:
        return Storing(found.cell, None, size=found.size)
    return Storing(None, await spill_bytes(serde, value, spill))


async def spill_bytes(serde: SerializerProtocol, value: Any, spill: Spill) -> int:
    """Store one large value in events of its own; returns the number of the last."""
    kind, data = serde.dumps_typed(value)
    seq: int | None = None
    for start in range(0, max(len(data), 1), SPILL_BYTES):
        cell = PackedValue(kind, data[start : start + SPILL_BYTES]).cell
        seq = await spill(cell if seq is None else {**cell, "after": seq})
    assert seq is not None
    return seq


async def _store_list(
    serde: SerializerProtocol,
    value: list[Any],
    base: Held | None,
    room: int,
    spill: Spill,
    *,
    snapshot: bool = False,
) -> Storing:
    items = [pack(serde, item) for item in value]
    digests = tuple(item.digest for item in items)
    keep, after, stored = _rest_on(base, digests)
    fresh = items[keep:]
    if any(item.size > MAX_VALUE_BYTES for item in fresh):
        whole = _DeltaSnapshot(value) if snapshot else value
        return Storing(None, await spill_bytes(serde, whole, spill))
    stored += len(fresh)
    heaps = list(_heaps(fresh))
    size = sum(item.size for item in heaps[-1])
    fits = size <= room
    for heap in heaps[:-1] if fits else heaps:
        after = await spill(_segment(heap, keep, after, snapshot=snapshot))
        keep += len(heap)
    if not fits:
        return Storing(None, after, digests, stored)
    return Storing(_segment(heaps[-1], keep, after, snapshot=snapshot), None, digests, stored, size)


def _rest_on(base: Held | None, digests: Sequence[bytes]) -> tuple[int, int | None, int]:
    """Return how many items to keep of what, and how many items that rests on already."""
    if base is None or base.items is None:
        return 0, None, 0
    pairs = zip(base.items, digests, strict=False)
    keep = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    grown = base.stored + len(digests) - keep
    if keep == 0 or grown > 2 * len(digests) + SLACK:
        return 0, None, 0
    return keep, base.seq, base.stored


def _heaps(items: Sequence[PackedValue]) -> Iterator[list[PackedValue]]:
    """Yield the items in heaps that fit into an event each."""
    heap: list[PackedValue] = []
    size = 0
    for item in items:
        if heap and size + item.size > MAX_VALUE_BYTES:
            yield heap
            heap, size = [], 0
        heap.append(item)
        size += item.size
    yield heap


def _segment(items: Sequence[PackedValue], keep: int, after: int | None, *, snapshot: bool) -> Cell:
    cell: Cell = {"items": [item.cell for item in items]}
    if snapshot:  # of a DeltaChannel, which wraps what it stores
        cell["snapshot"] = True
    return cell if after is None else {**cell, "keep": keep, "after": after}


def load(serde: SerializerProtocol, channel: str, version: Any, seq: int, found: Found) -> tuple[Any, Held]:
    """Return a value and where it is held, from the cells it rests on."""
    cells = list(_cells(channel, seq, found))
    if "items" not in cells[0]:
        first = packed(cells[-1])
        data = b"".join(packed(cell).data for cell in reversed(cells)) if len(cells) > 1 else first.data
        return unpack(serde, PackedValue(first.type, data, first.value)), Held(version, seq)
    items: list[PackedValue] = []
    stored = 0
    for cell in reversed(cells):
        del items[cell.get("keep", 0) :]
        items += map(packed, cell["items"])
        stored += len(cell["items"])
    digests = tuple(item.digest for item in items)
    value = [unpack(serde, item) for item in items]
    whole = _DeltaSnapshot(value) if "snapshot" in cells[0] else value
    return whole, Held(version, seq, digests, stored)


def _cells(channel: str, seq: int, found: Found) -> Iterator[Cell]:
    """Yield a cell, then each one the last rests on."""
    at: int | None = seq
    while at is not None:
        cell = found.get((channel, at))
        if cell is None:
            raise Refused(
                f"the value of {channel!r} in event {at} was erased while a run rested on it; start anew"
            )
        yield cell
        at = cell.get("after")
