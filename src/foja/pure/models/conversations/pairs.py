"""The pairs of requests and results, and their states: tool uses, approvals, slots.

A function of the persisted events alone, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foja.pure.models.conversations.order import Envelope, number

EMPTY: Mapping[str, Any] = {}
RESPONSES = frozenset({"tool_use_completed", "approval_completed"})


class Pairs:
    """The state of each event of a conversation, and the number of its request or result."""

    def __init__(self, events: Mapping[int, Envelope]) -> None:
        self.events = dict(_apply_erasures(events))
        self._states: dict[int, str] = {}
        self._pairs: dict[int, int] = {}
        self._refused: set[object] = set()  # tool uses whose approval was denied or expired
        self._erased = [
            seq
            for seq, item in self.events.items()
            if item.get("kind") == "approval_completed" and item.get("payload") is None
        ]
        self._pair_approvals()
        self._pair_tools()
        for seq, item in self.events.items():
            self._set_own_state(seq, item)

    def of(self, seq: int) -> tuple[str | None, int | None]:
        """Return the state of an event and the number of its request or result; None if it has none."""
        return self._states.get(seq), self._pairs.get(seq)

    def _pair_approvals(self) -> None:
        requests = self._by("approval_requested", "approval_id")
        answers = self._by("approval_completed", "approval_id")
        for approval, seqs in requests.items():
            answer = answers.get(approval, [self._erased_decision(seqs)])[0]
            decision = "requested" if answer is None else self._field(answer, "decision") or "erased"
            for seq in seqs:
                self._states[seq] = decision
                if answer is not None:
                    self._pairs[seq] = answer
                    self._pairs.setdefault(answer, seq)
            if decision in ("denied", "expired"):
                self._refused.update(self._field(seq, "tool_use_id") for seq in seqs)

    def _erased_decision(self, requests: Sequence[int]) -> int | None:
        """Return the number of a decision whose body was erased: the request names its id."""
        named = {name for seq in requests if isinstance(name := self._field(seq, "decision_id"), str)}
        return next((seq for seq in sorted(self._erased) if self.events[seq].get("id") in named), None)

    def _pair_tools(self) -> None:
        results = self._by("tool_use_completed", "tool_use_id")
        for tool, seqs in self._by("tool_use_requested", "tool_use_id").items():
            answers = results.get(tool, [])
            for place, seq in enumerate(seqs):
                answer = answers[place] if place < len(answers) else None
                self._states[seq] = self._tool_state(tool, seq, answer)
                if answer is not None:
                    self._pairs[seq], self._pairs[answer] = answer, seq

    def _tool_state(self, tool: object, seq: int, answer: int | None) -> str:
        if answer is not None and self._field(answer, "success") is True:
            return "completed"
        if tool in self._refused or (answer is not None and self._field(answer, "denied") is True):
            return "denied"
        if answer is not None:
            return "failed"
        result_seq = number(self._field(seq, "result_seq"))
        if result_seq is None or self.events.get(result_seq, EMPTY).get("kind") != "slot.voided":
            return "pending"
        self._pairs[seq], self._pairs[result_seq] = result_seq, seq
        return "voided"

    def _set_own_state(self, seq: int, item: Envelope) -> None:
        """Set the state that follows from the event itself, or from its pair."""
        if item.get("kind") == "slot.open":
            self._states[seq] = "open"
        elif item.get("payload") is None:
            self._states[seq] = "erased"
        elif item.get("kind") == "slot.voided":
            self._states[seq] = "voided"
        elif item.get("kind") == "approval_completed":
            self._states[seq] = self._field(seq, "decision")
        elif item.get("kind") == "tool_use_completed":
            paired = seq in self._pairs
            self._states[seq] = self._states[self._pairs[seq]] if paired else "unpaired"

    def _by(self, kind: str, field: str) -> dict[object, list[int]]:
        """Return the numbers of the events of a kind, by the value of one field, lowest first."""
        found: dict[object, list[int]] = {}
        for seq in sorted(self.events):
            value = self._field(seq, field)
            if self.events[seq].get("kind") == kind and isinstance(value, str):
                found.setdefault(value, []).append(seq)
        return found

    def _field(self, seq: int, field: str) -> Any:
        return body(self.events[seq]).get(field)


def group(items: Sequence[Envelope]) -> list[list[Envelope]]:
    """Return shown items in reading order, each result and decision in one list below its request."""
    by_seq = {item["seq"]: item for item in items if item.get("seq") is not None}
    under = {seq: request for seq in by_seq if (request := _request_of(seq, by_seq)) is not None}
    for seq, item in by_seq.items():
        reserved = number(body(item).get("result_seq")) if item["kind"] == "tool_use_requested" else None
        if reserved is not None and by_seq.get(reserved, EMPTY).get("kind") == "slot.open":
            under.setdefault(reserved, seq)
    groups = {id(item): [item] for item in items if item.get("seq") not in under}
    for seq, request in sorted(under.items()):
        groups[id(by_seq[request])].append(by_seq[seq])
    return list(groups.values())


def _request_of(seq: int, by_seq: Mapping[int, Envelope]) -> int | None:
    """Return the number of the request that this event answers."""
    kind, pair = by_seq[seq]["kind"], by_seq[seq].get("pair")
    request = EMPTY if pair is None else by_seq.get(pair, EMPTY)
    if request.get("pair") != seq:
        return None
    voided = kind == "slot.voided" and request["kind"] == "tool_use_requested"
    return pair if kind in RESPONSES or voided else None


def body(item: Envelope) -> Mapping[str, Any]:
    """Return the payload of an item; empty if it was erased."""
    payload = item.get("payload")
    return payload if isinstance(payload, Mapping) else EMPTY


def _apply_erasures(events: Mapping[int, Envelope]) -> Iterator[tuple[int, Envelope]]:
    """Yield the events after every `body.erased` is applied."""
    erased = {number(body(item).get("seq")) for item in events.values() if item.get("kind") == "body.erased"}
    for seq, item in events.items():
        yield seq, {**item, "payload": None, "actor": None} if seq in erased else item
