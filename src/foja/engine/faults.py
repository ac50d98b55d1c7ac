"""Log a fault once when it begins and once when it ends, no matter how many tasks notice it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakSet

from foja.errors import FojaError, LedgerUnavailable

DATABASE = "the database"
SETTLE_SECONDS = 5.0  # of success, until an activity that is repeated often works again
UNSEEN_SECONDS = 20
log = logging.getLogger("foja.faults")
# Told of each success (None) and each error of one part of an installation, and of any part by its name.
Report: TypeAlias = Callable[[Exception | None], None]
Reports: TypeAlias = Callable[[str, Exception | None], None]


def unreported(*_: object) -> None:
    """Report nothing: for what is no part of a running installation."""


@dataclass(slots=True)
class Fault:
    """A fault that has not ended, and the watches that still see it."""

    began: float = field(default_factory=time.monotonic)
    seen_by: WeakSet[Watch] = field(default_factory=WeakSet)


_open: dict[str, Fault] = {}  # by name, for this process


class Watch:
    """What one repeated activity sees: `failed` after an error, `worked` after a success.

    A watch that is closed, or that nothing refers to any more, keeps no fault open. Some activities succeed
    now and then during a fault, as with a full disk: it ends after `settle` seconds of success. An activity
    that is `rare` leaves outages of the database to the others, which notice their end when it comes.
    `report` is told of every success and error: the health of a part is what its watch saw last.
    """

    def __init__(
        self, name: str, settle: float = 0, *, rare: bool = False, report: Report = unreported
    ) -> None:
        self._name, self._settle, self._rare, self._report = name, settle, rare, report
        self._fault: str | None = None
        self._failed_at = 0.0

    @property
    def failing(self) -> bool:
        """Whether this watch sees a fault that has not ended."""
        return self._fault is not None

    def failed(self, error: Exception) -> None:
        """Log the fault unless it is open already.

        Errors of one kind are one fault of this activity; an outage of the database is one for all.
        """
        self._report(error)
        code = error.code if isinstance(error, FojaError) else type(error).__name__
        outage = isinstance(error, LedgerUnavailable)
        if outage and self._rare:
            return
        if self.begins(DATABASE if outage else f"{self._name} ({code})"):
            log.warning("%s: %s", DATABASE if outage else self._name, " ".join(str(error).split()))

    def begins(self, name: str = "") -> bool:
        """Note the fault of this name. Return whether it begins now, so that it has to be logged."""
        name = name or self._name
        self._failed_at = time.monotonic()
        if name != self._fault:
            self._end("followed by another error")
        fault = _open.get(name)
        if begins := fault is None or not fault.seen_by:
            fault = _open[name] = Fault()
        fault.seen_by.add(self)
        self._fault = name
        return begins

    def worked(self) -> None:
        """Log the end of the fault if this watch was the last to see it, and it has settled."""
        self._report(None)
        if self._fault and time.monotonic() >= self._failed_at + self._settle:
            self._end()

    def unseen(self) -> None:
        """Log the end of a fault that did not return for a while, although nothing succeeded since.

        This is for work that comes by chance: another process may do all of it now, or there is none.
        """
        if self._fault and time.monotonic() >= self._failed_at + UNSEEN_SECONDS:
            self._end("not seen again")

    def _end(self, how: str = "works again") -> None:
        if ended := self._leave():
            name, fault = ended
            seconds = time.monotonic() - fault.began
            log.warning("%s: %s after %.1f s", name.partition(" (")[0], how, seconds)

    def close(self) -> None:
        """End the fault of this watch without a line in the log."""
        self._leave()

    def _leave(self) -> tuple[str, Fault] | None:
        """Leave the fault. Return it if no other watch sees it: then it has ended."""
        if self._fault is None:
            return None
        name, self._fault = self._fault, None
        fault = _open[name]
        fault.seen_by.discard(self)
        if fault.seen_by:
            return None
        del _open[name]
        return name, fault
