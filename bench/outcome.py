"""The results of a group: tables, targets and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the range of a repeated measurement."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f}..{self.high:.2f})"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; the first column names what the others measure."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Target:
    """A required result, and whether it was reached."""

    name: str
    required: str
    measured: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """All results of one group."""

    tables: Sequence[Table]
    targets: Sequence[Target] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()


def spread(values: Sequence[float]) -> Spread:
    """Return the median and the range of some measurements."""
    return Spread(median(values), min(values), max(values))


def at_least(name: str, required: float, measured: Spread, against: str) -> Target:
    """Return the target that a median ratio is at least `required`."""
    return Target(name, f"≥ {required:g} × {against}", f"{measured}", passed=measured.middle >= required)


def at_most(name: str, required: float, measured: float) -> Target:
    """Return the target that a ratio is at most `required`."""
    return Target(name, f"≤ {required:g}", f"{measured:.3f}", passed=measured <= required)
