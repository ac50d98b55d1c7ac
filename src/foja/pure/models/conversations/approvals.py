"""The states of approvals, as a function of the events and of the given time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from foja.pure.core.event import event_id_for
from foja.pure.models.conversations.order import ABSENT, Envelope, HasEnvelope, envelope_of, instant, order
from foja.pure.models.conversations.pairs import body

REQUESTED, APPROVED, DENIED, EXPIRED = "requested", "approved", "denied", "expired"
ERASED = "erased"  # decided, but the body of the decision was erased


@dataclass(frozen=True, slots=True)
class Approval:
    """A requested approval and its state.

    `decided_seq` is None until an event records the decision. This also holds for an
    expired approval whose expiry is not recorded yet.
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
    policy: str | None = None

    @property
    def open(self) -> bool:
        """True while it can be decided."""
        return self.state == REQUESTED

    def matches(self, decision: str, reason: str | None, actor: str | None) -> bool:
        """Return whether this is the recorded decision, reason and actor."""
        return (self.state, self.reason, self.decided_by) == (decision, reason, actor)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision in effect, and whether it is the caller's. The first decision or expiry wins."""

    approval: Approval
    mine: bool

    @property
    def decision(self) -> str:
        """approved, denied, expired, or erased if it is not known any more."""
        return self.approval.state


def approvals(events: Iterable[Envelope | HasEnvelope], now: datetime) -> dict[str, Approval]:
    """Return every requested approval by its id, with its state at `now`.

    The first request and the first decision count. An approval without a decision is expired
    after its deadline; a recorded decision wins over the deadline. A request whose body was erased is left
    out; a decision without its body is known by its id.
    """
    found: dict[str, Approval] = {}
    ids: dict[str, str] = {}
    decisions: dict[str, Envelope] = {}
    for item in order([envelope_of(event) for event in events]):
        if item["kind"] == "approval_completed":
            decisions.setdefault(body(item).get("approval_id", item["id"]), item)
        elif item["kind"] == "approval_requested" and (name := body(item).get("approval_id")):
            found.setdefault(name, _from_request(item))
            ids.setdefault(name, decision_of(item))
    return {
        name: _with_decision(approval, decisions.get(name) or decisions.get(ids[name]), now)
        for name, approval in found.items()
    }


def decision_of(request: Envelope) -> str:
    """Return the id that the decision of a request has; a request of version 1 does not name it."""
    named, payload = body(request).get("decision_id"), body(request)
    return str(named or decision_id(UUID(request["entity_id"]), payload["approval_id"]))


def decision_id(entity_id: UUID, approval_id: str) -> UUID:
    """Return the id that the decision of an approval has, whoever decides it."""
    return event_id_for(entity_id, f"approval:{approval_id}")


def parse_time(text: object) -> datetime | None:
    """Return an RFC 3339 time, in UTC if it has no offset; None if it is not valid."""
    if instant(text) == ABSENT:
        return None
    parsed = datetime.fromisoformat(str(text).upper())
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _from_request(item: Envelope) -> Approval:
    payload = body(item)
    return Approval(
        payload["approval_id"],
        payload["tool_name"],
        payload["tool_args"],
        payload.get("tool_use_id"),
        parse_time(payload["expires_at"]),
        item["seq"],
        policy=payload.get("policy"),
    )


def _with_decision(approval: Approval, decision: Envelope | None, now: datetime) -> Approval:
    if decision is not None:
        payload = body(decision)
        return replace(
            approval,
            state=payload.get("decision", ERASED),
            reason=payload.get("reason"),
            decided_by=decision.get("actor"),
            decided_seq=decision["seq"],
        )
    if approval.expires_at is not None and approval.expires_at <= now:
        return replace(approval, state=EXPIRED)
    return approval
