"""What this process saw of each part and did not write yet, and of the database, in memory only."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from foja.errors import FojaError, LedgerUnavailable, redact
from foja.pure.models.health.part import Record

DATABASE = "database"
WRITE_SECONDS = 2.0  # at least, between two writes of one part
MAX_WORDS = 400


@dataclass(slots=True)
class Seen:
    """What was seen of a part since it was written; times are those of the monotonic clock."""

    worked: float | None = None
    failed: float | None = None
    since: float | None = None
    code: str | None = None
    error: str | None = None
    failing: bool = False  # as it was written last, and now
    failing_written: bool = False
    written: float = float("-inf")

    @property
    def pending(self) -> bool:
        """Whether something is not written yet."""
        return self.worked is not None or self.failed is not None

    def clear(self, now: float) -> None:
        """Note that all of it is written."""
        self.worked = self.failed = self.since = self.code = self.error = None
        self.failing_written, self.written = self.failing, now


class Recorder:
    """Takes reports of real successes and failures; it does no I/O, so every call site can afford it."""

    def __init__(self, calm_seconds: float) -> None:
        """A part that goes on working is written once in `calm_seconds`; what changes, sooner."""
        self._seen: dict[str, Seen] = {}
        self._calm = max(calm_seconds, WRITE_SECONDS)
        self.database = Record(DATABASE)

    def report(self, part: str, error: Exception | None = None) -> None:
        """Note that a part worked, or failed. An error belongs to the first part that reports it."""
        if isinstance(error, FojaError):
            owner = error.part or (DATABASE if isinstance(error, LedgerUnavailable) else part)
            error.part = owner
            if owner != part:
                return
        if part == DATABASE:
            self._note_database(error)
            return
        seen, now = self._seen.setdefault(part, Seen()), time.monotonic()
        seen.failing = error is not None
        if error is None:
            seen.worked = now
        else:
            seen.failed, seen.since = now, seen.since or now
            seen.code = error.code if isinstance(error, FojaError) else type(error).__name__
            seen.error = _words(error)

    def due(self) -> dict[str, Seen]:
        """Return what is to be written now."""
        now = time.monotonic()
        return {part: seen for part, seen in self._seen.items() if seen.pending and self._is_due(seen, now)}

    def everything(self) -> dict[str, Seen]:
        """Return all that is not written."""
        return {part: seen for part, seen in self._seen.items() if seen.pending}

    def _is_due(self, seen: Seen, now: float) -> bool:
        changed = seen.failing or seen.failing_written
        return now - seen.written >= (WRITE_SECONDS if changed else self._calm)

    def _note_database(self, error: Exception | None) -> None:
        now, before = datetime.now(UTC), self.database
        if error is None:
            self.database = replace(before, worked_at=now, failing_since=None, code=None, error=None)
        else:
            since = before.failing_since or now
            code = error.code if isinstance(error, FojaError) else type(error).__name__
            self.database = replace(
                before, failed_at=now, failing_since=since, code=code, error=_words(error)
            )


def _words(error: Exception) -> str:
    return redact(" ".join(str(error).split()) or type(error).__name__)[:MAX_WORDS]
