"""What a listing of a store shows of each object."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

PAGE_KEYS = 1000


@dataclass(frozen=True, slots=True)
class Listed:
    """One object as the store lists it; `modified_at` is by the store's clock."""

    key: str
    size: int
    modified_at: datetime
