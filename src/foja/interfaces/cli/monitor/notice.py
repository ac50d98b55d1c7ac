"""What the channels of alerts are told about a log that is followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from foja.domains.alerts.channels import Channel
from foja.engine.faults import Watch
from foja.engine.monitor.state import State
from foja.engine.monitor.streams import Finding
from foja.errors import FojaError
from foja.pure.models.alerts.alert import Severity

ALERT = "log_monitor"


@dataclass(frozen=True, slots=True)
class MonitorNotice:
    """One finding, which has the same id however often it is sent, or that the log cannot be read."""

    id: UUID
    event: Literal["fired", "cleared"]
    severity: Severity
    kind: str
    summary: str
    at: datetime
    fields: Mapping[str, Any]
    installation: str = "monitor"

    def document(self) -> dict[str, Any]:
        """Return the notice as a JSON object."""
        head = {"id": str(self.id), "event": self.event, "alert": ALERT, "label": self.kind}
        head |= {"severity": str(self.severity), "summary": self.summary, "at": self.at.isoformat()}
        return {**head, **self.fields}

    @property
    def subject(self) -> str:
        """The subject of an e-mail."""
        return f"[foja] {self.severity} {self.event}: {ALERT} ({self.kind})"

    @property
    def text(self) -> str:
        """The text of an e-mail."""
        at = self.at.isoformat(timespec="seconds")
        return f"{self.event}: {self.summary}\n\nalert: {ALERT}\nkind:  {self.kind}\ntime:  {at}\n"


def notice_of(name: str, found: Finding) -> MonitorNotice:
    """Return the notice about a finding in the log of this name."""
    fields, severity = asdict(found), Severity.CRITICAL if found.is_fault else Severity.WARNING
    notice_id = uuid5(NAMESPACE_URL, f"{ALERT} {name} {sorted(fields.items())}")
    return MonitorNotice(notice_id, "fired", severity, found.kind, found.detail, datetime.now(UTC), fields)


def outage_notice(name: str, event: Literal["fired", "cleared"]) -> MonitorNotice:
    """Return the notice that the log of this name cannot be read, or can be read again."""
    summary = f"The log {name} cannot be read: a fork in it would not be seen."
    fields = {"kind": "unreadable", "log": name}
    return MonitorNotice(uuid4(), event, Severity.WARNING, "unreadable", summary, datetime.now(UTC), fields)


async def deliver(state: State, channels: Sequence[Channel], watch: Watch) -> bool:
    """Send each channel the findings that it did not get, in order. Return whether any was sent.

    What cannot be sent now is sent after the next poll, also by another process.
    """
    sent = False
    for channel in channels:
        told = state.told.get(channel.name, 0)
        for number, found in enumerate(state.findings[told:], told + 1):
            try:
                await channel.send(notice_of(state.name, found))
            except FojaError as error:
                watch.failed(error)
                break
            state.told[channel.name], sent = number, True
            watch.worked()
    return sent
