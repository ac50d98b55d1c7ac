"""Conversations drawn by chance: what is stored, and everything a follower may hear of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Item = dict[str, Any]
START = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass
class History:
    """A conversation that is being written: `stored` is the truth, `heard` what travels."""

    chance: random.Random
    stored: dict[int, Item] = field(default_factory=dict)
    heard: list[Item] = field(default_factory=list)
    after: list[dict[int, Item]] = field(default_factory=list)
    clock: int = 0

    def moment(self) -> str:
        self.clock += self.chance.choice([0, 1, 1, 700])
        return (START + timedelta(microseconds=self.clock)).isoformat()

    def wake_on(self, item: Item) -> None:
        """Send one item, and remember what a load at this point would give."""
        self.heard.append(item)
        self.after.append(dict(self.stored))

    def event(self, kind: str, payload: Any, seq: int | None = None) -> int:
        seq = len(self.stored) if seq is None else seq
        self.stored[seq] = envelope(seq, kind, payload, f"e{seq}", self.moment())
        # A fill that is heard above a hole has no cursor; loaded later, it has one.
        self.wake_on({**self.stored[seq], "cursor": self.chance.choice([None, f"epoch:{seq}"])})
        return seq

    def open(self, intent: str) -> int:
        seq = len(self.stored)
        payload = {"intent": intent, "deadline": self.moment()}
        self.stored[seq] = {**envelope(seq, "slot.open", payload, None, None), "cursor": None}
        self.wake_on(self.stored[seq])
        self.stored[seq] = {**self.stored[seq], "payload": {**payload, "deadline": self.moment()}}  # extended
        return seq

    def erase(self, seq: int) -> None:
        if self.stored[seq]["kind"] in ("slot.open", "slot.voided", "body.erased"):
            return
        self.stored[seq] = {**self.stored[seq], "payload": None, "actor": None}
        self.event("body.erased", {"seq": seq, "reason": "asked for"})

    def passing(self, kind: str, payload: Item, turn: Any, block: Any = None, event: Any = None) -> None:
        self.wake_on(
            {
                "seq": None,
                "id": f"t{len(self.heard)}",
                "kind": kind,
                "at": self.moment(),
                "v": 1,
                "entity_id": "c",
                "turn": turn,
                "block_index": block,
                "event_index": event,
                "payload": payload,
                "cursor": None,
            }
        )


def envelope(seq: int, kind: str, payload: Any, name: str | None, at: str | None) -> Item:
    return {
        "seq": seq,
        "id": name,
        "kind": kind,
        "at": at,
        "v": 1,
        "actor": "ana",
        "entity_id": "c",
        "correlation_id": "c",
        "_source": "api",
        "payload": payload,
        "cursor": f"epoch:{seq}",
    }


def history(chance: random.Random, *, ended: bool = True) -> History:
    """Return a conversation of some turns; `ended` says whether each of them was completed."""
    told = History(chance)
    told.passing("session_start", {}, None)
    for n in range(chance.randint(1, 3)):
        turn = chance.choice([f"t{n}", n])
        told.event("user_message_sent", {"content": f"question {n}", "turn": turn})
        for block in range(chance.randint(0, 3)):
            chance.choice([say, think, use_tools, fail])(told, turn, block)
        if chance.random() < 0.3 and told.stored:
            told.erase(chance.choice(list(told.stored)))
        if ended:
            told.passing("complete", {}, turn)
    if chance.random() < 0.3:
        told.passing("session_end", {}, None)
    return told


def say(told: History, turn: Any, block: int) -> None:
    stream(told, "message_chunk", "agent_message_sent", turn, block)


def think(told: History, turn: Any, block: int) -> None:
    stream(told, "thinking_chunk", "thinking", turn, block)


def stream(told: History, chunk: str, kind: str, turn: Any, block: int) -> None:
    for n in range(told.chance.randint(1, 4)):
        told.passing(chunk, {"text": f"{block}.{n} "}, turn, told.chance.choice([block] * 9 + [None]), n)
    if told.chance.random() < 0.8:
        told.event(kind, {"content": f"{turn} {block}", "turn": turn, "block_index": block})


def fail(told: History, turn: Any, block: int) -> None:
    told.passing("error", {"message": "the append failed"}, turn, told.chance.choice([None, block]))
    told.event("turn_paused", {"reason": "error", "turn": told.chance.choice([turn, None])})


def use_tools(told: History, turn: Any, block: int) -> None:
    tools = [f"{turn}-{block}-{n}" for n in range(told.chance.randint(1, 3))]
    first = len(told.stored) + len(tools)
    for n, tool in enumerate(tools):
        payload = {"tool_use_id": tool, "tool_name": "search", "tool_args": {}, "turn": turn}
        told.event("tool_use_requested", {**payload, "result_seq": first + n})
    for tool in tools:
        told.open(tool)
    if told.chance.random() < 0.5:
        approve(told, tools[0])
    for n, tool in told.chance.sample(list(enumerate(tools)), len(tools)):
        finish(told, tool, first + n)


def approve(told: History, tool: str) -> None:
    asked = {"approval_id": f"a-{tool}", "tool_name": "search", "tool_args": {}, "tool_use_id": tool}
    told.event("approval_requested", {**asked, "expires_at": told.moment()})
    decision = told.chance.choice(["approved", "denied", "expired", None])
    if decision:
        told.event("approval_completed", {"approval_id": f"a-{tool}", "decision": decision, "reason": None})


def finish(told: History, tool: str, seq: int) -> None:
    done = {"tool_use_id": tool, "tool_name": "search", "tool_result": 1, "error_message": None}
    match told.chance.choice(["good", "bad", "denied", "void", "late", "never", "unpaired"]):
        case "good":
            told.event("tool_use_completed", {**done, "success": True}, seq)
        case "bad":
            told.event("tool_use_completed", {**done, "success": False}, seq)
        case "denied":
            told.event("tool_use_completed", {**done, "success": False, "denied": True}, seq)
        case "void":
            told.event("slot.voided", {"reason": "expired"}, seq)
        case "late":
            told.event("slot.voided", {"reason": "expired"}, seq)
            told.event("tool_use_completed", {**done, "success": True})
        case "unpaired":
            told.event("tool_use_completed", {**done, "tool_use_id": "nobody's", "success": True}, seq)
