"""Random conversations: the stored events, and all items that a follower may receive."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Item = dict[str, Any]
START = datetime(2026, 1, 2, tzinfo=UTC)
ENTITY = "00000000-0000-0000-0000-00000000000c"


@dataclass
class History:
    """A conversation while it is written: `stored` has its events, `sent` the items sent to followers."""

    chance: random.Random
    stored: dict[int, Item] = field(default_factory=dict)
    sent: list[Item] = field(default_factory=list)
    after: list[dict[int, Item]] = field(default_factory=list)
    clock: int = 0

    def time(self) -> str:
        self.clock += self.chance.choice([0, 1, 1, 700])
        return (START + timedelta(microseconds=self.clock)).isoformat()

    def send(self, item: Item) -> None:
        """Send one item, and record what a reload at this point would return."""
        self.sent.append(item)
        self.after.append(dict(self.stored))

    def event(self, kind: str, payload: Any, seq: int | None = None, name: str | None = None) -> int:
        seq = len(self.stored) if seq is None else seq
        self.stored[seq] = envelope(seq, kind, payload, name or f"e{seq}", self.time())
        # A fill above a hole is sent without a cursor; loaded later, it has one.
        self.send({**self.stored[seq], "cursor": self.chance.choice([None, f"epoch:{seq}"])})
        return seq

    def open(self, intent: str) -> int:
        seq = len(self.stored)
        payload = {"intent": intent, "deadline": self.time()}
        self.stored[seq] = {**envelope(seq, "slot.open", payload, None, None), "cursor": None}
        self.send(self.stored[seq])
        self.stored[seq] = {**self.stored[seq], "payload": {**payload, "deadline": self.time()}}  # extended
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
                "id": f"t{len(self.sent)}",
                "kind": kind,
                "at": self.time(),
                "v": 1,
                "entity_id": ENTITY,
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
        "entity_id": ENTITY,
        "correlation_id": ENTITY,
        "_source": "api",
        "payload": payload,
        "cursor": f"epoch:{seq}",
    }


def history(chance: random.Random, *, ended: bool = True) -> History:
    """Return a conversation of some turns; `ended` completes each of them."""
    written = History(chance)
    written.transient("session_start", {}, None)
    for n in range(chance.randint(1, 3)):
        turn = chance.choice([f"t{n}", n])
        written.event("user_message_sent", {"content": f"question {n}", "turn": turn})
        for block in range(chance.randint(0, 3)):
            chance.choice([say, think, use_tools, fail])(written, turn, block)
        if chance.random() < 0.3 and written.stored:
            written.erase(chance.choice(list(written.stored)))
        if ended:
            written.transient("complete", {}, turn)
    if chance.random() < 0.3:
        written.transient("session_end", {}, None)
    return written


def say(written: History, turn: Any, block: int) -> None:
    stream(written, "message_chunk", "agent_message_sent", turn, block)


def think(written: History, turn: Any, block: int) -> None:
    stream(written, "thinking_chunk", "thinking", turn, block)


def stream(written: History, chunk: str, kind: str, turn: Any, block: int) -> None:
    for n in range(written.chance.randint(1, 4)):
        written.transient(
            chunk, {"text": f"{block}.{n} "}, turn, written.chance.choice([block] * 9 + [None]), n
        )
    if written.chance.random() < 0.8:
        written.event(kind, {"content": f"{turn} {block}", "turn": turn, "block_index": block})


def fail(written: History, turn: Any, block: int) -> None:
    written.transient("error", {"message": "the append failed"}, turn, written.chance.choice([None, block]))
    written.event("turn_paused", {"reason": "error", "turn": written.chance.choice([turn, None])})


def use_tools(written: History, turn: Any, block: int) -> None:
    tools = [f"{turn}-{block}-{n}" for n in range(written.chance.randint(1, 3))]
    first = len(written.stored) + len(tools)
    for n, tool in enumerate(tools):
        payload = {"tool_use_id": tool, "tool_name": "search", "tool_args": {}, "turn": turn}
        written.event("tool_use_requested", {**payload, "result_seq": first + n})
    for tool in tools:
        written.open(tool)
    if written.chance.random() < 0.5:
        approve(written, tools[0])
    for n, tool in written.chance.sample(list(enumerate(tools)), len(tools)):
        finish(written, tool, first + n)


def approve(written: History, tool: str) -> None:
    request = {"approval_id": f"a-{tool}", "tool_name": "search", "tool_args": {}, "tool_use_id": tool}
    named = f"d-{tool}"  # the id of the decision to come, which requests of version 1 do not name
    if written.chance.random() < 0.7:
        request["decision_id"] = named
    written.event("approval_requested", {**request, "expires_at": written.time()})
    decision = written.chance.choice(["approved", "denied", "expired", None])
    if decision:
        payload = {"approval_id": f"a-{tool}", "decision": decision, "reason": None}
        decided = written.event("approval_completed", payload, name=named)
        if written.chance.random() < 0.2:
            written.erase(decided)


def finish(written: History, tool: str, seq: int) -> None:
    done = {"tool_use_id": tool, "tool_name": "search", "tool_result": 1, "error_message": None}
    match written.chance.choice(["good", "bad", "denied", "void", "late", "never", "unpaired"]):
        case "good":
            written.event("tool_use_completed", {**done, "success": True}, seq)
        case "bad":
            written.event("tool_use_completed", {**done, "success": False}, seq)
        case "denied":
            written.event("tool_use_completed", {**done, "success": False, "denied": True}, seq)
        case "void":
            written.event("slot.voided", {"reason": "expired"}, seq)
        case "late":
            written.event("slot.voided", {"reason": "expired"}, seq)
            written.event("tool_use_completed", {**done, "success": True})
        case "unpaired":
            written.event("tool_use_completed", {**done, "tool_use_id": "nobody's", "success": True}, seq)
