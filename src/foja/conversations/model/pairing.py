"""Which request an answer belongs to, and how each request stands: tools, approvals, slots.

A function of the persisted events alone, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foja.conversations.model.order import Wire, number

EMPTY: Mapping[str, Any] = {}


class Pairing:
    """The states of a conversation's events, and the number of each one's other half."""

    def __init__(self, events: Mapping[int, Wire]) -> None:
        self.events = dict(_as_erased(events))
        self._states: dict[int, str] = {}
        self._pairs: dict[int, int] = {}
        self._refused: set[object] = set()  # tool uses whose approval was denied or expired
        self._pair_approvals()
        self._pair_tools()
        for seq, form in self.events.items():
            self._state_alone(seq, form)

    def of(self, seq: int) -> tuple[str | None, int | None]:
        """Return the state of an event and the number of its other half, where it has them."""
        return self._states.get(seq), self._pairs.get(seq)

    def _pair_approvals(self) -> None:
        asked = self._by("approval_requested", "approval_id")
        answers = self._by("approval_completed", "approval_id")
        for approval, seqs in asked.items():
            answer = answers.get(approval, [None])[0]
            decision = "requested" if answer is None else self._said(answer, "decision")
            for seq in seqs:
                self._states[seq] = decision
                if answer is not None:
                    self._pairs[seq] = answer
                    self._pairs.setdefault(answer, seq)
            if decision in ("denied", "expired"):
                self._refused.update(self._said(seq, "tool_use_id") for seq in seqs)

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
        if answer is not None and self._said(answer, "success") is True:
            return "completed"
        if tool in self._refused or (answer is not None and self._said(answer, "denied") is True):
            return "denied"
        if answer is not None:
            return "failed"
        kept = number(self._said(seq, "result_seq"))
        if kept is None or self.events.get(kept, EMPTY).get("kind") != "slot.voided":
            return "pending"
        self._pairs[seq], self._pairs[kept] = kept, seq
        return "voided"

    def _state_alone(self, seq: int, form: Wire) -> None:
        """State what an event says of itself, whether or not it has another half."""
        if form.get("kind") == "slot.open":
            self._states[seq] = "open"
        elif form.get("payload") is None:
            self._states[seq] = "erased"
        elif form.get("kind") == "slot.voided":
            self._states[seq] = "voided"
        elif form.get("kind") == "approval_completed":
            self._states[seq] = self._said(seq, "decision")
        elif form.get("kind") == "tool_use_completed":
            paired = seq in self._pairs
            self._states[seq] = self._states[self._pairs[seq]] if paired else "unpaired"

    def _by(self, kind: str, field: str) -> dict[object, list[int]]:
        """Return the numbers of a kind's events by what one field says, lowest first."""
        found: dict[object, list[int]] = {}
        for seq in sorted(self.events):
            said = self._said(seq, field)
            if self.events[seq].get("kind") == kind and isinstance(said, str):
                found.setdefault(said, []).append(seq)
        return found

    def _said(self, seq: int, field: str) -> Any:
        return body(self.events[seq]).get(field)


def body(form: Wire) -> Mapping[str, Any]:
    """Return what an item says; nothing, if it was erased."""
    payload = form.get("payload")
    return payload if isinstance(payload, Mapping) else EMPTY


def _as_erased(events: Mapping[int, Wire]) -> Iterator[tuple[int, Wire]]:
    """Yield the events as they read once every `body.erased` is taken at its word."""
    gone = {number(body(form).get("seq")) for form in events.values() if form.get("kind") == "body.erased"}
    for seq, form in events.items():
        yield seq, {**form, "payload": None, "actor": None} if seq in gone else form
