"""Random conversations: what is stored, and everything that a follower may receive."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Item = dict[str, Any]
START = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass
class History:
    """A conversation that is being written: `stored` events, and `received` items of a follower."""

    chance: random.Random
    stored: dict[int, Item] = field(default_factory=dict)
    received: list[Item] = field(default_factory=list)
    after: list[dict[int, Item]] = field(default_factory=list)
    clock: int = 0

    def moment(self) -> str:
        self.clock += self.chance.choice([0, 1, 1, 700])
        return (START + timedelta(microseconds=self.clock)).isoformat()

    def send(self, item: Item) -> None:
        """Send one item, and remember what a load at this point would give."""
        self.received.append(item)
        self.after.append(dict(self.stored))

    def event(self, kind: str, payload: Any, seq: int | None = None) -> int:
        seq = len(self.stored) if seq is None else seq
        self.stored[seq] = envelope(seq, kind, payload, f"e{seq}", self.moment())
        # A fill above a gap is received without a cursor; loaded later, it has one.
        self.send({**self.stored[seq], "cursor": self.chance.choice([None, f"epoch:{seq}"])})
        return seq

    def open(self, intent: str) -> int:
        seq = len(self.stored)
        payload = {"intent": intent, "deadline": self.moment()}
        self.stored[seq] = {**envelope(seq, "slot.open", payload, None, None), "cursor": None}
        self.send(self.stored[seq])
        self.stored[seq] = {**self.stored[seq], "payload": {**payload, "deadline": self.moment()}}  # extended
        return seq

    def erase(self, seq: int) -> None:
        if self.stored[seq]["kind"] in ("slot.open", "slot.voided", "body.erased"):
            return
        self.stored[seq] = {**self.stored[seq], "payload": None, "actor": None}
        self.event("body.erased", {"seq": seq, "reason": "asked for"})

    def transient(self, kind: str, payload: Item, turn: Any, block: Any = None, event: Any = None) -> None:
        self.send(
            {
                "seq": None,
                "id": f"t{len(self.received)}",
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
    talk = History(chance)
    talk.transient("session_start", {}, None)
    for n in range(chance.randint(1, 3)):
        turn = chance.choice([f"t{n}", n])
        talk.event("user_message_sent", {"content": f"question {n}", "turn": turn})
        for block in range(chance.randint(0, 3)):
            chance.choice([say, think, use_tools, fail])(talk, turn, block)
        if chance.random() < 0.3 and talk.stored:
            talk.erase(chance.choice(list(talk.stored)))
        if ended:
            talk.transient("complete", {}, turn)
    if chance.random() < 0.3:
        talk.transient("session_end", {}, None)
    return talk


def say(talk: History, turn: Any, block: int) -> None:
    stream(talk, "message_chunk", "agent_message_sent", turn, block)


def think(talk: History, turn: Any, block: int) -> None:
    stream(talk, "thinking_chunk", "thinking", turn, block)


def stream(talk: History, chunk: str, kind: str, turn: Any, block: int) -> None:
    for n in range(talk.chance.randint(1, 4)):
        talk.transient(chunk, {"text": f"{block}.{n} "}, turn, talk.chance.choice([block] * 9 + [None]), n)
    if talk.chance.random() < 0.8:
        talk.event(kind, {"content": f"{turn} {block}", "turn": turn, "block_index": block})


def fail(talk: History, turn: Any, block: int) -> None:
    talk.transient("error", {"message": "the append failed"}, turn, talk.chance.choice([None, block]))
    talk.event("turn_paused", {"reason": "error", "turn": talk.chance.choice([turn, None])})


def use_tools(talk: History, turn: Any, block: int) -> None:
    tools = [f"{turn}-{block}-{n}" for n in range(talk.chance.randint(1, 3))]
    first = len(talk.stored) + len(tools)
    for n, tool in enumerate(tools):
        payload = {"tool_use_id": tool, "tool_name": "search", "tool_args": {}, "turn": turn}
        talk.event("tool_use_requested", {**payload, "result_seq": first + n})
    for tool in tools:
        talk.open(tool)
    if talk.chance.random() < 0.5:
        approve(talk, tools[0])
    for n, tool in talk.chance.sample(list(enumerate(tools)), len(tools)):
        finish(talk, tool, first + n)


def approve(talk: History, tool: str) -> None:
    asked = {"approval_id": f"a-{tool}", "tool_name": "search", "tool_args": {}, "tool_use_id": tool}
    talk.event("approval_requested", {**asked, "expires_at": talk.moment()})
    decision = talk.chance.choice(["approved", "denied", "expired", None])
    if decision:
        talk.event("approval_completed", {"approval_id": f"a-{tool}", "decision": decision, "reason": None})


def finish(talk: History, tool: str, seq: int) -> None:
    done = {"tool_use_id": tool, "tool_name": "search", "tool_result": 1, "error_message": None}
    match talk.chance.choice(["good", "bad", "denied", "void", "late", "never", "unpaired"]):
        case "good":
            talk.event("tool_use_completed", {**done, "success": True}, seq)
        case "bad":
            talk.event("tool_use_completed", {**done, "success": False}, seq)
        case "denied":
            talk.event("tool_use_completed", {**done, "success": False, "denied": True}, seq)
        case "void":
            talk.event("slot.voided", {"reason": "expired"}, seq)
        case "late":
            talk.event("slot.voided", {"reason": "expired"}, seq)
            talk.event("tool_use_completed", {**done, "success": True})
        case "unpaired":
            talk.event("tool_use_completed", {**done, "tool_use_id": "unknown", "success": True}, seq)
