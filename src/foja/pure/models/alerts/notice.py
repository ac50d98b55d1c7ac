"""What a person or a program is told when an alert fires or clears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from foja.pure.models.alerts.alert import Alert


class Message(Protocol):
    """What a channel sends. The same message has the same id, however often it is sent."""

    @property
    def id(self) -> UUID: ...
    @property
    def at(self) -> datetime: ...
    @property
    def installation(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def text(self) -> str: ...
    def document(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice about one series of an alert. The same notice has the same id, however often it is sent."""

    id: UUID
    event: Literal["fired", "cleared", "test"]
    alert: Alert
    label: str
    value: float | None
    limit: float | None
    at: datetime
    installation: str
    runbooks: str

    def document(self) -> dict[str, Any]:
        """Return the notice as a JSON object."""
        return {
            "id": str(self.id),
            "event": self.event,
            "alert": self.alert.name,
            "label": self.label,
            "severity": str(self.alert.severity),
            "summary": self.summary,
            "value": self.value,
            "limit": self.limit,
            "at": self.at.isoformat(),
            "installation": self.installation,
            "runbook": self.runbook,
        }

    @property
    def summary(self) -> str:
        """What is or was wrong."""
        return self.alert.words(self.label)

    @property
    def runbook(self) -> str:
        """Where the page about this alert is."""
        return self.runbooks + self.alert.runbook

    @property
    def subject(self) -> str:
        """The subject of an e-mail."""
        about = f" ({self.label})" if self.label else ""
        return f"[foja] {self.alert.severity} {self.event}: {self.alert.name}{about}"

    @property
    def text(self) -> str:
        """The text of an e-mail."""
        happened = {"fired": "fired", "cleared": "cleared, it was", "test": "this is a test of"}[self.event]
        lines = [f"{happened}: {self.summary}", "", f"alert:        {self.alert.name}"]
        lines += [f"series:       {self.label}"] if self.label else []
        lines += [f"value:        {self.alert.shown(self.value)}"] if self.value is not None else []
        lines += [f"limit:        {self.alert.shown(self.limit)}"] if self.limit is not None else []
        lines += [
            f"time:         {self.at.isoformat(timespec='seconds')}",
            f"installation: {self.installation}",
            f"what to do:   {self.runbook}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class ToldNotice:
    """A notice as it was told."""

    id: UUID
    alert: str
    label: str
    event: str
    value: float | None
    at: datetime
    undelivered: Annotated[Sequence[str], "the channels that did not take it yet"]
    error: str | None
