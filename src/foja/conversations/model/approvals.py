"""What a conversation's history says about its approvals. A function of events and of the time given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from foja.conversations.model.order import ABSENT, HasEnvelope, Wire, instant, order, wire
from foja.conversations.model.pairing import body

REQUESTED, APPROVED, DENIED, EXPIRED = "requested", "approved", "denied", "expired"


@dataclass(frozen=True, slots=True)
class Approval:
    """What somebody was asked to allow, and how that stands.

    `decided_seq` is None while no event says so: also if it has expired and nobody wrote
    that down yet.
    """

    id: str
    tool_name: str
    tool_args: Mapping[str, Any]
    tool_use_id: str | None
    expires_at: datetime | None
    requested_seq: int
    state: str = REQUESTED
    reason: str | None = None
    decided_by: str | None = None
    decided_seq: int | None = None

    @property
    def open(self) -> bool:
        """May somebody still decide?"""
        return self.state == REQUESTED

    def says(self, decision: str, reason: str | None, actor: str | None) -> bool:
        """Say whether this was decided in these words, by this actor."""
        return (self.state, self.reason, self.decided_by) == (decision, reason, actor)


def approvals(events: Iterable[Wire | HasEnvelope], now: datetime) -> dict[str, Approval]:
    """Return every approval that was asked for, by its id, as it stands at `now`.

    The first request and the first decision count. What has no decision is expired once its
    time is over; a decision that was recorded all the same wins over the clock.
    """
    found: dict[str, Approval] = {}
    decisions: dict[str, Wire] = {}
    for form in order([wire(event) for event in events]):
        if form["kind"] == "approval_requested":
            found.setdefault(body(form)["approval_id"], _asked(form))
        elif form["kind"] == "approval_completed":
            decisions.setdefault(body(form)["approval_id"], form)
    return {name: _stand(approval, decisions.get(name), now) for name, approval in found.items()}


def moment(words: object) -> datetime | None:
    """Return a moment as RFC 3339 writes it, in UTC if it has no offset; None if it is none."""
    if instant(words) == ABSENT:
        return None
    read = datetime.fromisoformat(str(words).upper())
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _asked(form: Wire) -> Approval:
    said = body(form)
    return Approval(
        said["approval_id"],
        said["tool_name"],
        said["tool_args"],
        said.get("tool_use_id"),
        moment(said["expires_at"]),
        form["seq"],
    )


def _stand(approval: Approval, decision: Wire | None, now: datetime) -> Approval:
    if decision is not None:
        said = body(decision)
        return replace(
            approval,
            state=said["decision"],
            reason=said["reason"],
            decided_by=decision.get("actor"),
            decided_seq=decision["seq"],
        )
    if approval.expires_at is not None and approval.expires_at <= now:
        return replace(approval, state=EXPIRED)
    return approval
