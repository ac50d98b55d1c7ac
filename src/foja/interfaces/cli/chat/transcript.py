"""Render a conversation as lines. Pure: the same items give the same lines.

Words of others are quotations: only the labels and the states are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from foja.pure.models.conversations.pairs import group
from foja.pure.models.conversations.text import brief, message_text
from foja.pure.quotation import quoted, quoted_lines

Item = Mapping[str, Any]

NUMBER, WHO = 5, 10
ARROW = "  ↳"
LONGEST = 640  # characters of a quotation: of JSON that `brief` has shortened, with the count
DECISIONS = {"approved", "denied", "expired"}
LABELS = {
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
MESSAGES = {"user_message_sent", "agent_message_sent"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `waiting` means that its result is not there yet."""

    seq: int | None
    who: str
    text: str
    tone: str
    waiting: bool = False
    answer: bool = False

    def plain(self) -> str:
        """Return the line without colour; further lines of the text are indented."""
        number = "" if self.seq is None else self.seq
        head = f"{number:>{NUMBER}} {ARROW if self.answer else self.who:<{WHO}} "
        return (head + self.text.replace("\n", "\n" + " " * len(head))).rstrip()


class Deadlines(dict[int, str]):
    """The deadlines of open slots, by number, as far as they were received."""

    def __init__(self, envelopes: Iterable[Item] = ()) -> None:
        super().__init__()
        self.add(envelopes)

    def add(self, envelopes: Iterable[Item]) -> None:
        """Add the deadline of every open slot among the envelopes."""
        for envelope in envelopes:
            if envelope.get("kind") == "slot.open":
                self[envelope["seq"]] = _local_time(str(envelope["payload"].get("deadline")))


def groups(items: Sequence[Item], deadlines: Deadlines) -> list[list[Line]]:
    """Return the lines in reading order, each result or decision below its request."""
    return [
        [line(first, deadlines), *(replace(line(each, deadlines), answer=True) for each in answers)]
        for first, *answers in group(items)
    ]


def line(item: Item, deadlines: Deadlines) -> Line:
    """Return the line of one item."""
    kind, seq = str(item.get("kind")), item.get("seq")
    actor, label = item.get("actor"), LABELS.get(kind) or quoted(kind)
    who = quoted(str(actor)) if actor and kind in MESSAGES else label
    if item.get("payload") is None:
        return Line(seq, who, "(erased)", "gone")
    text = " ".join(filter(None, _text_parts(item, kind, deadlines)))
    waiting = item.get("state") in ("pending", "requested", "open", "streaming")
    return Line(seq, who, text, _tone(item, kind), waiting)


def _text_parts(item: Item, kind: str, deadlines: Deadlines) -> Iterator[str]:
    body, state = item["payload"], item.get("state")
    if kind in ("tool_use_requested", "approval_requested"):
        yield from (quoted(str(body.get("tool_name"))), _json(body.get("tool_args")))
        if state == "requested":
            yield f"(waits for a decision until {_time(body.get('expires_at'))})"
        elif state == "denied" and kind == "tool_use_requested" and item.get("pair") is None:
            yield "(denied)"
    elif kind == "tool_use_completed":
        yield from _result(body, state)
    elif kind == "approval_completed":
        decision = str(body.get("decision"))
        yield from (
            decision if decision in DECISIONS else quoted(decision),
            _in_parentheses(body.get("reason")),
        )
        yield f"by {quoted(str(item['actor']))}" if item.get("actor") else ""
    elif kind == "slot.open":
        intent, until = body.get("intent"), deadlines.get(item["seq"])
        yield from ("" if intent is None else _json(intent), f"(until {until}, or longer)" if until else "")
    elif kind == "body.erased":
        yield from (f"body of event {brief(body.get('seq'))}", _in_parentheses(body.get("reason")))
    else:
        yield from _plain_text(item, body)


def _plain_text(item: Item, body: Item) -> Iterable[str]:
    if item.get("state") == "streaming":
        return ["…" if item.get("partial") else "", quoted_lines(str(body.get("text")))]
    for field in ("content", "reason", "message"):
        if field in body:
            return [quoted_lines(message_text(body[field]))]
    return [_json(body)]


def _result(body: Item, state: object) -> Iterator[str]:
    if state == "unpaired":
        yield f"of {quoted(str(body.get('tool_name')))}, without a request:"
    if not body.get("success"):
        yield "denied" if state == "denied" else "failed"
        yield _in_parentheses(body.get("error_message"))
    if body.get("success") or body.get("tool_result") is not None:
        yield _json(body.get("tool_result"))


def _json(value: object) -> str:
    return quoted(brief(value), LONGEST, straight=True)


def _time(moment: object) -> str:
    """Return a time as it was recorded; any other text is a quotation."""
    text = str(moment)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return quoted(text)
    return text


def _local_time(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%H:%M:%S}"
    except ValueError:
        return quoted(moment)


def _in_parentheses(reason: object) -> str:
    return f"({quoted(str(reason), LONGEST)})" if reason else ""


def _tone(item: Item, kind: str) -> str:
    state = item.get("state")
    if state in ("failed", "denied", "expired", "error", "unpaired"):
        return "bad"
    if state in ("voided", "open"):
        return "gone"
    return LABELS.get(kind, "note")
