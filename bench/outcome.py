"""What a group of works found: tables to read, targets to meet, figures for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Spread:
    """A number measured several times."""

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
    """Something that must be reached, and whether it was."""

    name: str
    required: str
    measured: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one group found."""

    tables: Sequence[Table]
    targets: Sequence[Target] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()


def spread(values: Sequence[float]) -> Spread:
    """Return the median of some measurements, and how far they reach."""
    return Spread(median(values), min(values), max(values))


def at_least(name: str, required: float, measured: Spread, against: str) -> Target:
    """Return the target that a median ratio is not below a number."""
    return Target(name, f"≥ {required:g} × {against}", f"{measured}", passed=measured.middle >= required)


def at_most(name: str, required: float, measured: float) -> Target:
    """Return the target that a ratio is not above a number."""
    return Target(name, f"≤ {required:g}", f"{measured:.3f}", passed=measured <= required)
