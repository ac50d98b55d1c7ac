"""The states of approvals: by the first request, the first decision, or the deadline."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.pure.models.conversations.approvals import Approval, approvals, parse_time
from foja.pure.models.conversations.events import CONVERSATION
from tests.rules.histories import envelope

Item = dict[str, Any]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def requested(seq: int, name: str = "a", due: str = "2026-01-02T00:05:00Z", **more: Any) -> Item:
    payload = {"approval_id": name, "tool_name": "pay", "tool_args": {"sum": seq}, "expires_at": due, **more}
    return envelope(seq, "approval_requested", payload, f"e{seq}", NOW.isoformat())


def decided(seq: int, decision: str, name: str = "a", reason: str | None = None) -> Item:
    payload = {"approval_id": name, "decision": decision, "reason": reason}
    return envelope(seq, "approval_completed", payload, f"e{seq}", NOW.isoformat())


def only(*events: Item, now: datetime = NOW) -> Approval:
    [approval] = approvals(events, now).values()
    return approval


def test_a_requested_approval_is_open() -> None:
    found = only(requested(0, tool_use_id="t"))
    assert found == Approval("a", "pay", {"sum": 0}, "t", NOW + timedelta(minutes=5), 0)
    assert found.open


@pytest.mark.parametrize("decision", ["approved", "denied", "expired"])
def test_a_decision_closes_it(decision: str) -> None:
    found = only(requested(0), decided(1, decision, reason="because"))
    assert (found.state, found.reason, found.decided_by, found.decided_seq) == (decision, "because", "ana", 1)
    assert not found.open


def test_the_first_request_and_the_first_decision_count() -> None:
    found = only(requested(0), requested(1), decided(2, "denied"), decided(3, "approved"))
    assert (found.requested_seq, found.state, found.decided_seq) == (0, "denied", 2)


def test_each_has_its_own_decision() -> None:
    found = approvals([requested(0), requested(1, "b"), decided(2, "approved", "b")], NOW)
    assert {name: each.state for name, each in found.items()} == {"a": "requested", "b": "approved"}


@pytest.mark.parametrize(
    ("due", "state"),
    [
        ("2026-01-01T23:59:59Z", "expired"),
        ("2026-01-02T00:00:00Z", "expired"),
        ("2026-01-02T00:00:00.000001Z", "requested"),
        ("2026-01-02T01:00:00+02:00", "expired"),
        ("2026-01-01T23:30:00-03:00", "requested"),
        ("2026-01-01T23:59:59", "expired"),
        ("whenever", "requested"),
        ("", "requested"),
    ],
)
def test_the_deadline_expires_an_undecided_approval(due: str, state: str) -> None:
    found = only(requested(0, due=due))
    assert (found.state, found.decided_seq) == (state, None)


def test_a_recorded_decision_wins_over_the_deadline() -> None:
    assert only(requested(0), decided(1, "approved"), now=NOW + timedelta(days=1)).state == "approved"


def test_a_decision_without_a_request_is_ignored() -> None:
    assert approvals([decided(0, "approved")], NOW) == {}
    assert approvals([], NOW) == {}


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(chance: random.Random) -> None:
    kinds = ["approved", "denied", "expired"]
    events = [requested(n, chance.choice("abc")) for n in range(4)]
    events += [decided(n, chance.choice(kinds), chance.choice("abc")) for n in range(4, 8)]
    expected = approvals(events, NOW)
    assert approvals(chance.sample(events, len(events)), NOW) == expected
    for approval in expected.values():
        assert approval.open == (approval.decided_seq is None)


def test_a_decision_has_its_key_whatever_the_caller_gives() -> None:
    rule = CONVERSATION.kind("approval_completed", 1, "api")
    assert rule.key({"approval_id": "a"}, None) == "approval:a"
    assert rule.key({"approval_id": "a"}, "mine") == "approval:a"
    assert CONVERSATION.kind("approval_requested", 1, "api").key({"approval_id": "a"}, "mine") == "mine"


def test_times() -> None:
    assert parse_time("2026-01-02t00:00:00z") == NOW
    assert parse_time(None) is None
    assert parse_time(5) is None
