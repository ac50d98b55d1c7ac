"""Where a stream's numbers come from, as this process last heard it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

FRESH = 5.0
MAX_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class LaneState:
    """A stream's lane. No fence: PostgreSQL numbers it. `moved` is on this process's own clock."""

    fence: UUID | None
    run_id: str | None
    seed: int
    moved: float | None

    def fresh(self, now: float) -> bool:
        """Did it move just now, so that its counter may not be there yet?"""
        return self.moved is not None and now - self.moved < FRESH

    def rested(self, now: float, seconds: float) -> bool:
        """May it return to Redis?"""
        return self.fence is None and (self.moved is None or now - self.moved >= seconds)


class LaneStates:
    """What is known of the streams written last. Being wrong costs a round trip, never a number."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self._known: OrderedDict[UUID, LaneState] = OrderedDict()
        self._most = most

    def find(self, entity_id: UUID) -> LaneState | None:
        """Return what is known of a stream."""
        return self._known.get(entity_id)

    def learn(self, entity_id: UUID, standing: LaneState) -> None:
        """Remember a stream; the one learned longest ago is forgotten for it."""
        self._known[entity_id] = standing
        self._known.move_to_end(entity_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, entity_id: UUID) -> None:
        """Ask again next time."""
        self._known.pop(entity_id, None)
