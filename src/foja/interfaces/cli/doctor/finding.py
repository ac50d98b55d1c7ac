"""One line of the doctor: what was looked at, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


class Status(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    NOTE = "note"  # nothing is wrong, but good to know
    WARN = "warn"  # it works, and may not for long
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one thing."""

    name: str
    status: Status
    found: str
    advice: str = ""

    def document(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return asdict(self)

    def lines(self, width: int) -> list[str]:
        """Return the finding as text, its advice below it."""
        first = f"{self.status:<5} {self.name:<{width}} {self.found}"
        return [first, f"{'':<{width + 7}}→ {self.advice}"] if self.advice else [first]


def ok(name: str, found: str) -> Finding:
    """Return a finding that is fine."""
    return Finding(name, Status.OK, found)


def note(name: str, found: str, advice: str) -> Finding:
    """Return a finding that only informs."""
    return Finding(name, Status.NOTE, found, advice)


def warn(name: str, found: str, advice: str) -> Finding:
    """Return a finding that needs attention."""
    return Finding(name, Status.WARN, found, advice)


def fail(name: str, found: str, advice: str) -> Finding:
    """Return a finding that something does not work."""
    return Finding(name, Status.FAIL, found, advice)


def shown_space(free: int, total: int) -> str:
    """Return how much is free of how much, in the unit that fits the whole."""
    unit, size = next((each for each in UNITS if total >= each[1]), UNITS[-1])
    return f"{free / size:,.1f} of {total / size:,.1f} {unit}"


def worst(findings: Sequence[Finding]) -> Status:
    """Return the most serious status."""
    order = list(Status)
    return max((each.status for each in findings), key=order.index, default=Status.OK)
