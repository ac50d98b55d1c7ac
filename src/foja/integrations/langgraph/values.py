"""How the channel values of a state are stored: in which event, and based on which others.

A list that grew, or changed near its end, is stored as a difference to an earlier event:
`keep` items of the event `after`, then these `items`. So a conversation of n messages takes n
messages, not n²/2. A value too large for one event is stored in several, linked the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from foja.errors import Refused
from foja.integrations.langgraph.codec import (
    Cell,
    PackedValue,
    count_items,
    join_cells,
    pack,
    packed,
    split_cell,
    unpack,
    unpack_all,
)

MAX_VALUE_BYTES = 700_000  # for the values in one event; an event may have a megabyte in total
SPILL_BYTES = 500_000
SLACK = 64
Spill = Callable[[Cell], Awaitable[int]]
Found = Mapping[tuple[str, int], Any]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A stored value of a channel: its version, its event, and the digests of its items if it is a list.

    `stored` counts the items of all events it is based on; if too many, it is stored whole again.
    """

    version: Any
    seq: int
    items: tuple[bytes, ...] | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class PendingValue:
    """A value to store: a cell for the checkpoint's own event, or the number of an earlier event."""

    cell: Cell | None
    seq: int | None
    items: tuple[bytes, ...] | None = None
    stored: int = 0
    size: int = 0

    def at(self, version: Any, seq: int) -> StoredValue:
        """Return the stored value, given the number of its checkpoint."""
        return StoredValue(version, seq if self.seq is None else self.seq, self.items, self.stored)


async def store(
    serde: SerializerProtocol, value: Any, base: StoredValue | None, space: int, spill: Spill
) -> PendingValue:
    """Return how to store a value; a value of more than `space` bytes is spilled to other events."""
    if type(value) is list and value:
        return await _store_list(serde, value, base, space, spill)
    if type(value) is _DeltaSnapshot and type(value.value) is list and value.value:
        return await _store_list(serde, value.value, base, space, spill, snapshot=True)
    found = pack(serde, value)
    if found.size <= space:
        return PendingValue(found.cell, None, size=found.size)
    return PendingValue(None, await spill_bytes(serde, value, spill))


async def spill_bytes(serde: SerializerProtocol, value: Any, spill: Spill) -> int:
    """Store one large value in events of its own; return the number of the last."""
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
    base: StoredValue | None,
    space: int,
    spill: Spill,
    *,
    snapshot: bool = False,
) -> PendingValue:
    items = [pack(serde, item) for item in value]
    digests = tuple(item.digest for item in items)
    keep, after, stored = _find_base(base, digests)
    new = items[keep:]
    if any(item.size > MAX_VALUE_BYTES for item in new):
        whole = _DeltaSnapshot(value) if snapshot else value
        return PendingValue(None, await spill_bytes(serde, whole, spill))
    stored += len(new)
    batches = list(_batches(new))
    size = sum(item.size for item in batches[-1])
    # A snapshot has an event of its own: reading the checkpoints does not read it.
    fits = size <= space and not snapshot
    for batch in batches[:-1] if fits else batches:
        after = await spill(_segment(batch, keep, after, snapshot=snapshot))
        keep += len(batch)
    if not fits:
        return PendingValue(None, after, digests, stored)
    return PendingValue(_segment(batches[-1], keep, after, snapshot=snapshot), None, digests, stored, size)


def _find_base(base: StoredValue | None, digests: Sequence[bytes]) -> tuple[int, int | None, int]:
    """Return how many items to keep of which event, and how many items it is based on."""
    if base is None or base.items is None:
        return 0, None, 0
    pairs = zip(base.items, digests, strict=False)
    keep = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    grown = base.stored + len(digests) - keep
    if keep == 0 or grown > 2 * len(digests) + SLACK:
        return 0, None, 0
    return keep, base.seq, base.stored


def _batches(items: Sequence[PackedValue]) -> Iterator[list[PackedValue]]:
    """Yield the items in batches that each fit into an event."""
    batch: list[PackedValue] = []
    size = 0
    for item in items:
        if batch and size + item.size > MAX_VALUE_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.size
    yield batch


def _segment(items: Sequence[PackedValue], keep: int, after: int | None, *, snapshot: bool) -> Cell:
    cell = join_cells(items)
    if snapshot:  # a DeltaChannel wraps its value
        cell["snapshot"] = True
    return cell if after is None else {**cell, "keep": keep, "after": after}


def load(
    serde: SerializerProtocol, channel: str, version: Any, seq: int, found: Found
) -> tuple[Any, StoredValue]:
    """Return a value and where it is stored, from the cells it is based on."""
    cells = list(_cells(channel, seq, found))
    if not _is_list(cells[0]):
        return _load(serde, cells), StoredValue(version, seq)
    digests = tuple(item.digest for each in _items(cells) for item in each.split())
    stored = sum(map(count_items, cells))
    return _load(serde, cells), StoredValue(version, seq, digests, stored)


def load_value(serde: SerializerProtocol, channel: str, seq: int, found: Found) -> Any:
    """Return a value from the cells it is based on."""
    return _load(serde, list(_cells(channel, seq, found)))


def _load(serde: SerializerProtocol, cells: Sequence[Cell]) -> Any:
    if _is_list(cells[0]):
        value = unpack_all(serde, _items(cells))
        return _DeltaSnapshot(value) if "snapshot" in cells[0] else value
    first = packed(cells[-1])
    data = b"".join(packed(cell).data for cell in reversed(cells)) if len(cells) > 1 else first.data
    return unpack(serde, PackedValue(first.type, data, first.value))


def _is_list(cell: Cell) -> bool:
    return "items" in cell or "sizes" in cell


def _items(cells: Sequence[Cell]) -> list[PackedValue]:
    """Return the items of a list: each cell keeps some of the cell it is based on."""
    items: list[PackedValue] = []
    count = 0
    for cell in reversed(cells):
        keep = cell.get("keep", 0)
        if keep < count:
            items = [item for each in items for item in each.split()][:keep]
        items += split_cell(cell)
        count = keep + count_items(cell)
    return items


def _cells(channel: str, seq: int, found: Found) -> Iterator[Cell]:
    """Yield a cell, then each cell that the previous one is based on."""
    at: int | None = seq
    while at is not None:
        cell = found.get((channel, at))
        if cell is None:
            raise Refused(
                f"the value of {channel!r} in event {at} was erased while a run used it; start a new run"
            )
        yield cell
        at = cell.get("after")
