"""A bounded memory of what was checked, and which of it was used since the database was last told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import UUID

from foja.pure.models.access.grant import Grant

MOST: Final = 10_000
NOTE_SECONDS: Final = 60.0  # between two notes of the use of one key


class Grants:
    """Grants by the digest of their key, cookie or token. The oldest is forgotten when there are too many."""

    def __init__(self, clock: Callable[[], float], most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._known: dict[bytes, Grant] = {}
        self._noted: dict[str | UUID, float] = {}  # when the use of a key or a session is to be noted again
        self._used: set[str | UUID] = set()

    def find(self, digest: bytes) -> Grant | None:
        """Return a grant that has not expired, and note its use."""
        grant = self._known.get(digest)
        if grant is None:
            return None
        now = self._clock()
        if grant.ends is not None and now >= grant.ends:
            del self._known[digest]
            return None
        self._note(grant, now)
        return grant

    def keep(self, grant: Grant) -> None:
        """Remember a grant that was checked just now."""
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        self._known[grant.digest] = grant
        self._note(grant, self._clock())

    def clear(self) -> None:
        """Forget every grant: one of them may have ended."""
        self._known.clear()

    def take_used(self) -> tuple[list[str], list[UUID]]:
        """Return the keys and the sessions that were used, and forget that they were."""
        used, self._used = self._used, set()
        if len(self._noted) > self._most:
            self._noted.clear()
        return [each for each in used if isinstance(each, str)], [e for e in used if isinstance(e, UUID)]

    def _note(self, grant: Grant, now: float) -> None:
        if grant.id is not None and now >= self._noted.get(grant.id, 0.0):
            self._noted[grant.id] = now + min(NOTE_SECONDS, (grant.idle or NOTE_SECONDS) / 4)
            self._used.add(grant.id)
