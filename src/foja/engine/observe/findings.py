"""The findings of a check: the first ones in full, all of them counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One finding: what was expected, what was found, and at which event."""

    check: str
    entity_id: UUID | None
    seq: int | None
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: {self.check}: expected {self.expected}, found {self.found}"

    @property
    def where(self) -> str:
        """The event, the stream, or the log as a whole."""
        if self.entity_id is None:
            return "log"
        stream = f"stream {self.entity_id}"
        return stream if self.seq is None else f"event {self.seq} of {stream}"

    def document(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {**asdict(self), "entity_id": str(self.entity_id) if self.entity_id else None}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check. `findings` are the first ones, `total` counts them all."""

    findings: tuple[Anomaly, ...]
    total: int
    counts: Mapping[str, int]

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return self.total == 0

    @property
    def first(self) -> Anomaly | None:
        """The first finding that names an event, else the first finding."""
        named = [finding for finding in self.findings if finding.seq is not None]
        return next(iter(named or self.findings), None)

    def document(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "clean": self.clean,
            "total": self.total,
            "first": self.first.document() if self.first else None,
            "findings": [finding.document() for finding in self.findings],
            "counts": dict(self.counts),
        }


@dataclass(slots=True)
class Anomalies:
    """Collects findings. It stores the first `most` and counts all."""

    most: int = MAX_SHOWN
    total: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _first: list[Anomaly] = field(default_factory=list)

    def add(
        self, check: str, *, expected: str, found: str, entity_id: UUID | None = None, seq: int | None = None
    ) -> None:
        """Add one finding."""
        self.total += 1
        if len(self._first) < self.most:
            self._first.append(Anomaly(check, entity_id, seq, expected, found))

    def report(self) -> CheckReport:
        """Return the findings so far."""
        return CheckReport(tuple(self._first), self.total, dict(self.counts))
