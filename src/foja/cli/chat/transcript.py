"""A conversation as lines: who, what, and what came of it. The same items, the same lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

Item = Mapping[str, Any]

NUMBER, WHO, LONGEST = 5, 10, 600
ARROW = "  ↳"
# What would move the cursor, paint, or turn the line around.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SPEAKERS = {
    "user_message_sent": "user",
    "agent_message_sent": "agent",
    "message_chunk": "agent",
    "thinking": "thinking",
    "thinking_chunk": "thinking",
    "turn_paused": "paused",
    "content_refused": "refused",
    "tool_use_requested": "tool",
    "tool_use_completed": "result",
    "approval_requested": "approval",
    "approval_completed": "decision",
    "slot.open": "reserved",
    "slot.voided": "void",
    "body.erased": "erased",
    "error": "error",
}
ANSWERS = {"tool_use_completed", "approval_completed"}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that is shown; `waiting` means that something is still to come of it."""

    seq: int | None
    who: str
    text: str
    tone: str
    waiting: bool = False
    answer: bool = False

    def plain(self) -> str:
        """Return the line without colour; what is longer than one line goes on under itself."""
        number = "" if self.seq is None else self.seq
        head = f"{number:>{NUMBER}} {ARROW if self.answer else self.who:<{WHO}} "
        return (head + self.text.replace("\n", "\n" + " " * len(head))).rstrip()


class Deadlines(dict[int, str]):
    """Until when open numbers are kept, as far as was heard."""

    def __init__(self, forms: Iterable[Item] = ()) -> None:
        super().__init__()
        self.take(forms)

    def take(self, forms: Iterable[Item]) -> None:
        """Take note of every open number among these."""
        for form in forms:
            if form.get("kind") == "slot.open":
                self[form["seq"]] = _clock(str(form["payload"].get("deadline")))


def groups(items: Sequence[Item], deadlines: Deadlines) -> list[list[Line]]:
    """Return the lines in reading order, each answer under what it answers."""
    by_seq = {item["seq"]: item for item in items if item.get("seq") is not None}
    under = {item["seq"]: item["pair"] for item in by_seq.values() if _is_answer(item, by_seq)}
    under.update(_kept_numbers(by_seq))
    answers = {asked: seq for seq, asked in under.items()}
    found = []
    for item in items:
        if item.get("seq") in under:
            continue
        group = [line(item, deadlines)]
        if (answer := answers.get(item.get("seq"))) is not None:
            group.append(replace(line(by_seq[answer], deadlines), answer=True))
        found.append(group)
    return found


def line(item: Item, deadlines: Deadlines) -> Line:
    """Return one item by itself."""
    kind, seq = str(item.get("kind")), item.get("seq")
    who = (
        clean(str(item.get("actor") or SPEAKERS.get(kind, kind)))
        if _speaks(kind)
        else SPEAKERS.get(kind, kind)
    )
    if item.get("payload") is None:
        return Line(seq, who, "(erased)", "gone")
    text = clean(" ".join(filter(None, _words(item, kind, deadlines))))
    waiting = item.get("state") in ("pending", "requested", "open", "streaming")
    return Line(seq, who, text, _tone(item, kind), waiting)


def clean(text: str) -> str:
    """Return a text that does nothing to a terminal but appear on it."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def spoken(content: object) -> str:
    """Return the words of a message, of all its blocks if it has several."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(
        block["text"] if isinstance(block, Mapping) and isinstance(block.get("text"), str) else brief(block)
        for block in blocks
    )


def brief(value: object) -> str:
    """Return a value as JSON, cut where it gets long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _speaks(kind: str) -> bool:
    return kind in ("user_message_sent", "agent_message_sent")


def _is_answer(item: Item, by_seq: Mapping[int, Item]) -> bool:
    asked = by_seq.get(item.get("pair"))  # type: ignore[arg-type]
    if asked is None or asked.get("pair") != item["seq"]:
        return False
    return item["kind"] in ANSWERS or (
        item["kind"] == "slot.voided" and asked["kind"] == "tool_use_requested"
    )


def _kept_numbers(by_seq: Mapping[int, Item]) -> Iterator[tuple[int, int]]:
    """Yield every open number that a request keeps for its answer, and the request's own."""
    for seq, item in by_seq.items():
        kept = (item.get("payload") or {}).get("result_seq") if item["kind"] == "tool_use_requested" else None
        if isinstance(kept, int) and by_seq.get(kept, {}).get("kind") == "slot.open":
            yield kept, seq


def _words(item: Item, kind: str, deadlines: Deadlines) -> Iterator[str]:
    body, state = item["payload"], item.get("state")
    if kind in ("tool_use_requested", "approval_requested"):
        yield from (str(body.get("tool_name")), brief(body.get("tool_args")))
        if state == "requested":
            yield f"(waits for a decision until {body.get('expires_at')})"
        elif state == "denied" and kind == "tool_use_requested" and item.get("pair") is None:
            yield "(denied)"
    elif kind == "tool_use_completed":
        yield from _result(body, state)
    elif kind == "approval_completed":
        yield from (str(body.get("decision")), _because(body.get("reason")))
        yield f"by {item['actor']}" if item.get("actor") else ""
    elif kind == "slot.open":
        intent, until = body.get("intent"), deadlines.get(item["seq"])
        yield from ("" if intent is None else brief(intent), f"(until {until}, or longer)" if until else "")
    elif kind == "body.erased":
        yield from (f"what event {body.get('seq')} said", _because(body.get("reason")))
    else:
        yield from _plain_words(item, body)


def _plain_words(item: Item, body: Item) -> Iterable[str]:
    if item.get("state") == "streaming":
        return ["…" if item.get("partial") else "", str(body.get("text"))]
    for field in ("content", "reason", "message"):
        if field in body:
            return [spoken(body[field])]
    return [brief(body)]


def _result(body: Item, state: object) -> Iterator[str]:
    if state == "unpaired":
        yield f"of {body.get('tool_name')}, which nobody asked for:"
    if not body.get("success"):
        yield "denied" if state == "denied" else "failed"
        yield _because(body.get("error_message"))
    if body.get("success") or body.get("tool_result") is not None:
        yield brief(body.get("tool_result"))


def _clock(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%H:%M:%S}"
    except ValueError:
        return moment


def _because(reason: object) -> str:
    return f"({reason})" if reason else ""


def _tone(item: Item, kind: str) -> str:
    state = item.get("state")
    if state in ("failed", "denied", "expired", "error", "unpaired"):
        return "bad"
    if state in ("voided", "open"):
        return "gone"
    return SPEAKERS.get(kind, "note")
