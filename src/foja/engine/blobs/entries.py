"""What a listing of a store shows of each object, and the object that says whose store it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

PAGE_KEYS = 1000
MARKER = "installation"  # the key of the object that names the installation; the first start writes it


class StoreAway(OSError):
    """What is at the store's place now is not the store of this installation."""


def check_marker(found: bytes | None, identity: str) -> None:
    """Raise `StoreAway` unless the marker that was found names this installation."""
    if found is None or found.strip() != identity.encode():
        raise StoreAway(
            f"what is there now {'lacks its file' if found is None else 'has another file'} `{MARKER}`"
        )


@dataclass(frozen=True, slots=True)
class Listed:
    """One object as the store lists it; `modified_at` is by the store's clock."""

    key: str
    size: int
    modified_at: datetime
