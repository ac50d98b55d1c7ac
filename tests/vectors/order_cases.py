"""Makes `order.json`: the cases that every implementation of the reading order must pass.

Written by hand, or drawn by a seed and put in order by `literally`, which reads the rule
clause by clause, one pair at a time, and shares nothing with `foja.pure.models.conversations.order`.
Run as `python -m tests.vectors.order_cases`; cases are added, never edited.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Item = dict[str, Any]
VECTORS = Path(__file__).with_name("order.json")
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)


def literally(items: list[Item]) -> list[Item]:
    """Put items in order by asking, again and again, which one goes before all the others."""
    left, done = list(items), []
    while left:
        first = next(each for each in left if all(goes_before(each, other, items) for other in left))
        left.remove(first)
        done.append(first)
    return done


def goes_before(a: Item, b: Item, items: list[Item]) -> bool:
    """Say whether the rule of DESIGN §6 puts a before b, or cannot tell them apart."""
    if a.get("seq") is not None and b.get("seq") is not None:
        if a["seq"] != b["seq"]:
            return bool(a["seq"] < b["seq"])  # persisted by sequence
    elif a.get("seq") is not None or b.get("seq") is not None:
        return a.get("seq") is not None  # persisted before transient
    elif a.get("turn") != b.get("turn"):
        one, other = first_timestamp(a.get("turn"), items), first_timestamp(b.get("turn"), items)
        if one != other:
            return one < other  # transients by turn: first timestamp,
        return a.get("turn") is None or (b.get("turn") is not None and a["turn"] < b["turn"])  # then name
    elif index(a) is None or index(b) is None:
        if index(a) is not None or index(b) is not None:
            return index(b) is None  # those with an index first; the rest after
    elif index(a) != index(b):
        return bool(index(a) < index(b))  # by block_index ?? event_index,
    elif a.get("event_index") != b.get("event_index"):  # then event index
        if a.get("event_index") is None or b.get("event_index") is None:
            return b.get("event_index") is None
        return bool(a["event_index"] < b["event_index"])
    if moment(a) != moment(b):
        return moment(a) < moment(b)  # ties by timestamp,
    return bool(a["id"] <= b["id"])  # then id


def first_timestamp(turn: str | None, items: list[Item]) -> datetime:
    return min(moment(each) for each in items if each.get("seq") is None and each.get("turn") == turn)


def index(item: Item) -> Any:
    block = item.get("block_index")
    return item.get("event_index") if block is None else block


def moment(item: Item) -> datetime:
    return datetime.fromisoformat(item["at"]) if item.get("at") is not None else LATEST


def at(milliseconds: float, offset: int = 0) -> str:
    """Return a moment after the start, as written in a place some hours ahead of UTC."""
    zone = timezone(timedelta(hours=offset))
    return (START + timedelta(milliseconds=milliseconds)).astimezone(zone).isoformat()


def event(seq: Any, name: Any = "e", **more: Any) -> Item:
    return {"seq": seq, "id": name, "kind": "thinking", "at": at(0), "payload": {"content": name}, **more}


def passing(name: Any = "t", **more: Any) -> Item:
    return {"seq": None, "id": name, "kind": "message_chunk", "at": at(0), "payload": {"text": name}, **more}


def chunk(turn: Any, block: Any, event_index: Any, name: str = "c", **more: Any) -> Item:
    return passing(name, turn=turn, block_index=block, event_index=event_index, **more)


def by_hand() -> Iterator[tuple[str, str, list[Item]]]:
    """Yield a name, the clause it is about, and the items as they are to be read."""
    yield from persisted()
    yield from mixed_spaces()
    yield from turns()
    yield from indexes()
    yield from times()
    yield from ties()
    yield from added()


def persisted() -> Iterator[tuple[str, str, list[Item]]]:
    clause = "seed §7.1, DESIGN §6: persisted by sequence"
    yield "nothing", "DESIGN §6: total", []
    yield "one event", clause, [event(7)]
    yield "two events", clause, [event(1), event(2)]
    yield "numbers, not digits", clause, [event(9), event(10), event(99), event(100)]
    yield "far apart", clause, [event(3), event(5_000_000_000), event(2**53 - 1)]
    yield "against their times", clause, [event(4, at=at(9)), event(5, at=at(1)), event(6, at=at(5))]
    yield "against their ids", clause, [event(1, "z"), event(2, "y"), event(3, "a")]
    yield "a fill is later than its successor", clause, [event(6, at=at(9000)), event(7, at=at(10))]
    yield "against their blocks", clause, [event(1, block_index=9), event(2, block_index=0)]
    yield "against their turns", clause, [event(1, turn="z", at=at(5)), event(2, turn="a", at=at(1))]
    yield "without a time", clause, [event(1, at=None), event(2), event(3, at=None)]
    yield (
        "an open slot keeps its place",
        clause,
        [
            event(3, at=at(1)),
            event(4, None, kind="slot.open", at=None),
            event(5, at=at(2)),
        ],
    )
    yield (
        "a voided slot keeps its place",
        clause,
        [event(3), event(4, kind="slot.voided", payload={"reason": "denied"}), event(5)],
    )
    yield (
        "parallel tools read as they were asked",
        "seed §5: tool ordering",
        [
            event(5, "A", kind="tool_use_completed", at=at(2000)),
            event(6, "B", kind="tool_use_completed", at=at(100)),
        ],
    )
    zero = "notes A5.1: sequence 0 is a number"
    yield "zero first", zero, [event(0), event(1), event(2)]
    yield "zero before transient", zero, [event(0, at=at(9)), passing(at=at(1))]
    yield "only zero and chunks", zero, [event(0), chunk("t", 0, 0, "a"), chunk("t", 0, 1, "b")]
    yield (
        "zero is not the index zero",
        zero,
        [event(0), passing("b", event_index=0), passing("a", block_index=0)],
    )
    yield "zero with a late time", zero, [event(0, at=at(99)), event(1, at=at(1)), passing(at=at(0))]
    yield "zero as a float is the same", zero, [event(0.0, "a"), event(1, "b")]
    yield "below zero is no number", zero, [event(0), event(8), event(-1, "x", at=at(-5))]
    yield "a text is no number", zero, [event(3), event("2", "x")]
    yield "half a number is no number", zero, [event(3), event(2.5, "x")]
    yield "true is no number", zero, [event(3), event(True, "x")]
    yield (
        "no number at all",
        zero,
        [event(2), {"id": "x", "kind": "message_chunk", "at": at(0), "payload": {}}],
    )
    again = "notes A5.4: re-sort after an update"
    yield (
        "a result that got its number sorts there",
        again,
        [event(4, "ask"), event(5, "result", at=at(50)), event(6, "next", at=at(20)), passing("later")],
    )
    yield (
        "an optimistic message that was numbered moves up",
        again,
        [event(0, "old"), event(1, "mine", at=at(7)), passing("a", at=at(3)), passing("b", at=at(5))],
    )
    yield (
        "a tool stays at its request, not at its result",
        "notes A5.6",
        [
            event(2, kind="tool_use_requested", payload={"tool_use_id": "a"}),
            event(3, kind="tool_use_requested", payload={"tool_use_id": "b"}),
            event(4, kind="tool_use_completed", payload={"tool_use_id": "a"}),
            event(5, kind="tool_use_completed", payload={"tool_use_id": "b"}),
        ],
    )


def mixed_spaces() -> Iterator[tuple[str, str, list[Item]]]:
    before = "seed §7.2, DESIGN §6: persisted before transient"
    yield "one of each", before, [event(5), passing()]
    yield "whatever the time", before, [event(5, at=at(100)), passing(at=at(-100))]
    yield "whatever the index", before, [event(500), passing(block_index=0, event_index=0)]
    yield "whatever the turn", before, [event(5, turn="z"), passing(turn="a")]
    yield "whatever the id", before, [event(5, "z"), passing("a")]
    yield (
        "all of one before all of the other",
        before,
        [event(1, at=at(8)), event(2, at=at(6)), passing("a", at=at(1)), passing("b", at=at(2))],
    )
    mixed = "notes A5.2: an event index is never a sequence"
    yield (
        "index 3 of turn 9 is not number 3",
        mixed,
        [event(0), event(1), event(4), chunk("turn-9", None, 3)],
    )
    yield (
        "indexes restart in each turn",
        mixed,
        [
            event(40),
            chunk("turn-8", None, 0, "a", at=at(1)),
            chunk("turn-8", None, 1, "b", at=at(2)),
            chunk("turn-9", None, 0, "c", at=at(3)),
            chunk("turn-9", None, 1, "d", at=at(4)),
        ],
    )
    yield (
        "a number and an index that are equal",
        mixed,
        [event(2), event(3), chunk("t", 2, 2, "x"), chunk("t", 3, 3, "y")],
    )
    yield (
        "an index on a persisted event means nothing",
        mixed,
        [event(1, event_index=9), event(2, event_index=0), event(3, block_index=0)],
    )
    now = "notes A5.3: no clock is a sequence"
    yield (
        "an optimistic message has no number and comes last",
        now,
        [event(0), event(1), passing("mine", at=at(1))],
    )
    yield (
        "somebody who numbers by the clock comes after what has a number",
        now,
        [event(7), event(734_512), event(1_767_323_045_000), passing()],
    )


def turns() -> Iterator[tuple[str, str, list[Item]]]:
    clause = "DESIGN §6: transients by turn, first timestamp"
    yield "two turns", clause, [chunk("b", 0, 0, at=at(1)), chunk("a", 0, 0, at=at(2))]
    yield (
        "turns do not mix",
        clause,
        [
            chunk("b", 0, 0, "1", at=at(1)),
            chunk("b", 0, 1, "2", at=at(9)),
            chunk("a", 0, 0, "3", at=at(2)),
            chunk("a", 0, 1, "4", at=at(3)),
        ],
    )
    yield (
        "the first timestamp is the earliest, not that of the first block",
        clause,
        [
            chunk("b", 0, 0, "1", at=at(9)),
            chunk("b", 5, 0, "2", at=at(1)),
            chunk("a", 0, 0, "3", at=at(2)),
        ],
    )
    yield (
        "also of what has no index",
        clause,
        [
            chunk("b", 0, 0, "1", at=at(9)),
            passing("2", turn="b", at=at(1)),
            chunk("a", 0, 0, "3", at=at(2)),
        ],
    )
    yield (
        "a persisted event of the turn does not count",
        clause,
        [
            event(0, turn="b", at=at(0)),
            chunk("a", 0, 0, "1", at=at(2)),
            chunk("b", 0, 0, "2", at=at(3)),
        ],
    )
    yield (
        "by microseconds",
        clause,
        [chunk("b", 0, 0, at=at(1.001)), chunk("a", 0, 0, at=at(1.002))],
    )
    yield (
        "a turn without any time comes last",
        clause,
        [chunk("b", 0, 0, at=at(1)), chunk("a", 0, 0, at=None)],
    )
    yield (
        "one known time is enough",
        clause,
        [
            chunk("b", 0, 0, "1", at=None),
            chunk("b", 0, 1, "2", at=at(1)),
            chunk("a", 0, 0, "3", at=at(2)),
        ],
    )
    name = "DESIGN §6: turns with the same first timestamp, by name"
    yield "by name", name, [chunk("a", 9, 9), chunk("b", 0, 0)]
    yield "texts, not numbers", name, [chunk("10", 0, 0), chunk("9", 0, 0)]
    yield "a number is called as it is written", name, [chunk(10, 0, 0), chunk(9, 0, 0)]
    yield "1 and '1' are one turn", name, [chunk(1, 0, 0), chunk("1", 0, 1), chunk(1, 0, 2)]
    yield "capitals first", name, [chunk("B", 0, 0), chunk("a", 0, 0)]
    yield "a prefix first", name, [chunk("turn", 0, 0), chunk("turn-1", 0, 0)]
    yield "by code point", name, [chunk("\uffee", 0, 0), chunk("\U0001f600", 0, 0)]
    yield "accents after z", name, [chunk("z", 0, 0), chunk("é", 0, 0), chunk("ñ", 0, 0)]
    yield "the empty name is a name", name, [chunk("", 0, 0), chunk("a", 0, 0)]
    yield (
        "the same instant in two places",
        name,
        [chunk("a", 0, 0, at=at(0, 5)), chunk("b", 0, 0, at=at(0, -3))],
    )
    yield "both without time", name, [chunk("a", 0, 0, at=None), chunk("b", 0, 0, at=None)]
    none = "DESIGN §6: what has no turn is a turn of its own"
    yield "none before the named, if heard together", none, [chunk(None, 0, 0), chunk("", 0, 0)]
    yield "none by its first timestamp", none, [chunk("b", 0, 0, at=at(1)), chunk(None, 0, 0, at=at(2))]
    yield "no turn and null are the same", none, [passing("1", block_index=1), chunk(None, 2, None, "0")]
    yield (
        "a turn that is no name counts as none",
        none,
        [chunk(None, 0, 0), chunk(True, 0, 1), chunk([], 0, 2)],
    )


def indexes() -> Iterator[tuple[str, str, list[Item]]]:
    clause = "seed §7.3, DESIGN §6: by block_index ?? event_index"
    yield "by block", clause, [chunk("t", 0, None), chunk("t", 1, None), chunk("t", 2, None)]
    yield "by event", clause, [chunk("t", None, 0), chunk("t", None, 1), chunk("t", None, 2)]
    yield "numbers, not digits (blocks)", clause, [chunk("t", 9, None), chunk("t", 10, None)]
    yield "numbers, not digits (events)", clause, [chunk("t", None, 9), chunk("t", None, 10)]
    yield "without a turn too", clause, [passing("b", block_index=1), passing("a", block_index=2)]
    yield "against time", clause, [chunk("t", 0, 0, at=at(9)), chunk("t", 1, 0, at=at(1))]
    yield "against id", clause, [chunk("t", 0, 0, "z"), chunk("t", 1, 0, "a")]
    yield "block zero is an index", clause, [chunk("t", 0, 9), chunk("t", 1, 0)]
    yield "event zero is an index", clause, [chunk("t", None, 0, at=at(9)), passing("z", turn="t", at=at(1))]
    yield (
        "block zero wins over the event index",
        clause,
        [chunk("t", 0, 5), chunk("t", None, 3), chunk("t", 4, 1)],
    )
    one_side = "notes A5: an index missing on one side"
    yield "a block beside an event", one_side, [chunk("t", 1, None), chunk("t", None, 2), chunk("t", 3, None)]
    yield "an event beside a block", one_side, [chunk("t", None, 1), chunk("t", 2, None), chunk("t", None, 3)]
    yield "equal, and one has no event index", one_side, [chunk("t", None, 2), chunk("t", 2, None)]
    yield "an index beside none", one_side, [chunk("t", 5, 5, at=at(9)), passing("a", turn="t", at=at(1))]
    yield "below zero is none", one_side, [chunk("t", 3, 3, at=at(9)), chunk("t", -1, -1, at=at(1))]
    yield "below zero gives way to the event index", one_side, [chunk("t", -1, 2), chunk("t", 3, 0)]
    yield "a text is none", one_side, [chunk("t", 3, 3, at=at(9)), chunk("t", "0", "0", at=at(1))]
    yield (
        "null and missing are the same",
        one_side,
        [
            chunk("t", 0, 0),
            chunk("t", None, None, "a"),
            passing("b", turn="t"),
        ],
    )
    then = "DESIGN §6: then event index; notes A5.5: no comparator without block and event index"
    yield "within a block", then, [chunk("t", 0, 0), chunk("t", 0, 1), chunk("t", 0, 2), chunk("t", 1, 0)]
    yield "blocks whose events restart", then, [chunk("t", b, e) for b in range(3) for e in range(3)]
    yield "blocks whose events go on", then, [chunk("t", b, b * 3 + e) for b in range(3) for e in range(3)]
    yield (
        "a late chunk of an earlier block",
        then,
        [chunk("t", 0, 1, "late", at=at(90)), chunk("t", 1, 2, "early", at=at(10))],
    )
    yield (
        "a block's event without index comes after",
        then,
        [
            chunk("t", 1, 0, at=at(5)),
            chunk("t", 1, None, at=at(1)),
            chunk("t", 2, 0),
        ],
    )
    rest = "DESIGN §6: the rest after"
    yield (
        "control events of a turn",
        rest,
        [
            chunk("t", 0, 0, "a", at=at(3)),
            chunk("t", 1, 0, "b", at=at(4)),
            passing("c", turn="t", kind="error", at=at(1)),
            passing("d", turn="t", kind="complete", at=at(2)),
        ],
    )
    yield (
        "before the next turn all the same",
        rest,
        [
            chunk("s", 0, 0, "a", at=at(1)),
            passing("b", turn="s", kind="complete", at=at(8)),
            chunk("t", 0, 0, "c", at=at(2)),
        ],
    )


def times() -> Iterator[tuple[str, str, list[Item]]]:
    clause = "seed §7.4, DESIGN §6: ties by timestamp"
    yield "by time", clause, [passing("c", at=at(1)), passing("b", at=at(2)), passing("a", at=at(3))]
    yield "equal places by time", clause, [chunk("t", 1, 1, "b", at=at(1)), chunk("t", 1, 1, "a", at=at(2))]
    yield "equal numbers by time", clause, [event(1, "b", at=at(1)), event(1, "a", at=at(2))]
    yield (
        "by microseconds, within one millisecond",
        clause,
        [
            passing("b", at="2026-01-02T03:04:05.123456+00:00"),
            passing("a", at="2026-01-02T03:04:05.123457+00:00"),
        ],
    )
    yield (
        "by nanoseconds",
        clause,
        [
            passing("b", at="2026-01-02T03:04:05.123456788Z"),
            passing("a", at="2026-01-02T03:04:05.123456789Z"),
        ],
    )
    yield (
        "digits that are not there are zero",
        clause,
        [
            passing("c", at="2026-01-02T03:04:05Z"),
            passing("b", at="2026-01-02T03:04:05.0000001Z"),
            passing("a", at="2026-01-02T03:04:05.1Z"),
        ],
    )
    yield (
        "a fraction is no integer",
        clause,
        [
            passing("b", at="2026-01-02T03:04:05.45Z"),
            passing("a", at="2026-01-02T03:04:05.5Z"),
        ],
    )
    yield (
        "zeros at the end mean nothing",
        clause,
        [
            passing("a", at="2026-01-02T03:04:05.500000+00:00"),
            passing("b", at="2026-01-02T03:04:05.5Z"),
        ],
    )
    yield (
        "before 1970",
        clause,
        [
            passing("b", at="1969-12-31T23:59:59.25Z"),
            passing("a", at="1969-12-31T23:59:59.75Z"),
            passing("0", at="1970-01-01T00:00:00Z"),
        ],
    )
    offsets = "timestamps are instants, whatever their offset"
    yield (
        "east before west",
        offsets,
        [
            passing("b", at="2026-01-02T06:00:00+05:00"),
            passing("a", at="2026-01-02T02:00:00+00:00"),
            passing("0", at="2026-01-02T00:00:00-03:00"),
        ],
    )
    yield (
        "another day, the same order",
        offsets,
        [
            passing("b", at="2026-01-03T00:30:00+01:00"),
            passing("a", at="2026-01-02T23:45:00Z"),
        ],
    )
    yield (
        "half an hour",
        offsets,
        [
            passing("b", at="2026-01-02T05:29:59+05:30"),
            passing("a", at="2026-01-02T00:00:00Z"),
        ],
    )
    yield (
        "Z and +00:00 and none are the same",
        offsets,
        [
            passing("a", at="2026-01-02T00:00:00"),
            passing("b", at="2026-01-02T00:00:00Z"),
            passing("c", at="2026-01-02T00:00:00+00:00"),
            passing("d", at="2026-01-02T00:00:00-00:00"),
        ],
    )
    yield (
        "spelled otherwise",
        offsets,
        [
            passing("a", at="2026-01-02 00:00:00z"),
            passing("b", at="2026-01-02t00:00:00+0000"),
        ],
    )
    yield (
        "microseconds and offsets",
        offsets,
        [
            passing("b", at="2026-01-02T05:00:00.000001+05:00"),
            passing("a", at="2026-01-02T00:00:00.000002Z"),
        ],
    )
    missing = "a missing timestamp comes last"
    yield "null", missing, [passing("b", at=at(5)), passing("a", at=None)]
    yield "not there", missing, [passing("b"), {"seq": None, "id": "a", "kind": "error", "payload": {}}]
    yield "no time at all", missing, [passing("b", at=at(5)), passing("a", at="yesterday")]
    yield "no such day", missing, [passing("b", at=at(5)), passing("a", at="2025-02-29T00:00:00Z")]
    yield "no such hour", missing, [passing("b", at=at(5)), passing("a", at="2025-02-28T24:00:00Z")]
    yield "no such month", missing, [passing("b", at=at(5)), passing("a", at="2025-13-01T00:00:00Z")]
    yield "a number is no timestamp", missing, [passing("b", at=at(5)), passing("a", at=1_767_323_045_000)]
    yield "a leap day is one", missing, [passing("b", at="2024-02-29T00:00:00Z"), passing("a", at=at(0))]


def ties() -> Iterator[tuple[str, str, list[Item]]]:
    clause = "DESIGN §6: then id"
    yield "transient", clause, [passing("a"), passing("b"), passing("c")]
    yield "in the same place", clause, [chunk("t", 0, 0, "a"), chunk("t", 0, 0, "b")]
    yield "persisted with one number", clause, [event(4, "a"), event(4, "b")]
    yield "texts, not numbers (ids)", clause, [passing("10"), passing("9")]
    yield "both without time, by id", clause, [passing("a", at=None), passing("b", at=None)]
    yield (
        "the same instant, other offsets, by id",
        clause,
        [passing("a", at=at(1, 9)), passing("b", at=at(1, -9))],
    )
    yield "by code point (ids)", clause, [passing("\ufffd"), passing("\U00010000")]
    yield "no id first", clause, [passing(None), passing("a")]
    total = "total: whatever is different has one order"
    yield (
        "by what they say",
        total,
        [
            passing("x", payload={"text": "a"}),
            passing("x", payload={"text": "b"}),
        ],
    )
    yield (
        "by a deeper word",
        total,
        [
            passing("x", payload={"text": "a", "more": [1, {"deep": 1}]}),
            passing("x", payload={"text": "a", "more": [1, {"deep": 2}]}),
        ],
    )
    yield "the same twice is there twice", total, [passing("x"), passing("x"), event(1), event(1)][::-1]


def added() -> Iterator[tuple[str, str, list[Item]]]:
    """Cases found later; new ones go here, so that the old ones keep their names."""
    clause = "timestamps are instants, whatever their offset"
    yield "no such offset", clause, [passing("b", at=at(5)), passing("a", at="2026-01-02T00:00:00+15:00")]
    yield (
        "the farthest offset",
        clause,
        [
            passing("b", at="2026-01-02T14:00:00+14:00"),
            passing("a", at="2026-01-01T10:00:01-14:00"),
        ],
    )
    first = "DESIGN §6: transients by turn, first timestamp"
    yield (
        "the earliest of a turn may be its last chunk",
        first,
        [
            chunk("b", 0, 0, "1", at=at(9)),
            chunk("b", 0, 1, "2", at=at(1)),
            chunk("a", 0, 0, "3", at=at(2)),
        ],
    )


def drawn(seed: int) -> list[Item]:
    """Return items as a busy conversation may leave them, some of them odd."""
    draw = random.Random(seed)
    items: list[Item] = []
    for n in range(draw.randint(2, 14)):
        more: Item = {
            "at": at(draw.choice([0, 0.001, 1, 2, 5, draw.randint(0, 9)]), draw.choice([0, 0, 2, -7]))
        }
        if draw.random() < 0.05:
            more = {"at": None}
        name = f"{draw.choice('abc')}{n}"
        if draw.random() < 0.35:
            items.append(event(draw.randint(0, 20), name, **more))
            continue
        items.append(
            chunk(
                draw.choice([None, "t1", "t2", "t10"]),
                draw.choice([None, 0, 1, 2]),
                draw.choice([None, 0, 1, 2, 3]),
                name,
                **more,
            )
        )
    return items


def cases() -> list[dict[str, Any]]:
    """Return every case: the items as they come, and where each of them goes."""
    found = []
    for number, (name, clause, expected) in enumerate(by_hand()):
        items = list(expected)
        random.Random(number).shuffle(items)
        found.append(case(f"{number:03} {name}", clause, items, expected))
    for seed in range(140):
        items = drawn(seed)
        found.append(case(f"drawn {seed}", "DESIGN §6: every clause at once", items, literally(items)))
    return found


def case(name: str, clause: str, items: list[Item], expected: list[Item]) -> dict[str, Any]:
    places = [items.index(each) for each in expected]
    return {"name": name, "clause": clause, "items": items, "expected": places}


if __name__ == "__main__":
    rows = ",\n".join(json.dumps(each, ensure_ascii=True) for each in cases())
    VECTORS.write_text(f"[\n{rows}\n]\n")
