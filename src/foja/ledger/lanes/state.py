"""The lane of a stream, as far as this process knows."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

FRESH = 5.0
MAX_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class LaneState:
    """A stream's lane. Without a fence, PostgreSQL numbers it. `moved` is a local monotonic time."""

    tenant: str
    fence: UUID | None
    run_id: str | None
    seed: int
    moved: float | None

    def fresh(self, now: float) -> bool:
        """Return whether it has just moved, so that its counter may not exist yet."""
        return self.moved is not None and now - self.moved < FRESH

    def may_return(self, now: float, seconds: float) -> bool:
        """Return whether it may return to Redis."""
        return self.fence is None and (self.moved is None or now - self.moved >= seconds)


class LaneStates:
    """A cache of the streams written last. An outdated entry costs a round trip, never a number."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self._known: OrderedDict[UUID, LaneState] = OrderedDict()
        self._most = most

    def find(self, entity_id: UUID) -> LaneState | None:
        """Return the cached lane of a stream."""
        return self._known.get(entity_id)

    def store(self, entity_id: UUID, state: LaneState) -> None:
        """Cache a stream's lane. The oldest entry is evicted if the cache is full."""
        self._known[entity_id] = state
        self._known.move_to_end(entity_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, entity_id: UUID) -> None:
        """Remove a stream from the cache."""
        self._known.pop(entity_id, None)
