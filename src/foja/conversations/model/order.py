"""The order in which a conversation is read. `web/static/foja.js` is the same in JavaScript.

Persisted by number, before all that is transient. Transient by turn: the turn that was
heard of first comes first, then by name. Within a turn those with an index come first, by
`block_index`, or `event_index` where there is none, then by `event_index`; the rest comes
after. What is still equal goes by time, then by id, then by what it says.

What is missing or makes no sense (a time that is none, an index below 0) counts as absent,
and comes after what is there. 0 is a number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeAlias, TypeVar

from foja.core.canonical import canonical
from foja.errors import NotCanonical

Wire: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[Any, ...]

ABSENT: Key = (1,)  # after every (0, …)
_TIME = re.compile(
    r"(?!0000)([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])(0[0-9]|1[0-4]):?([0-5][0-9]))?"
)


class HasEnvelope(Protocol):
    """An event, or something transient: whatever has a form on the wire."""

    def envelope(self) -> dict[str, Any]: ...


Item = TypeVar("Item", bound="Wire | HasEnvelope")


def order(items: Iterable[Item]) -> list[Item]:
    """Return these items in reading order, whatever the order they came in."""
    known = [(wire(item), item) for item in items]
    first = _first_heard(form for form, _ in known)
    ranked = sorted([(_rank(form, first), form, item) for form, item in known], key=itemgetter(0))
    runs = [list(run) for _, run in groupby(ranked, key=itemgetter(0))]
    return [item for run in runs for _, _, item in sorted(run, key=_tie if len(run) > 1 else None)]


def wire(item: Wire | HasEnvelope) -> Wire:
    """Return an item as JSON carries it."""
    return item if isinstance(item, Mapping) else item.envelope()


def number(value: object) -> int | None:
    """Return the number of a persisted event, or None; 0 is one."""
    index = index_of(value)
    return int(index) if index is not None and index == int(index) else None


def turn_name(turn: object) -> str | None:
    """Return a turn's name; a number is called as it is written."""
    if isinstance(turn, str):
        return turn
    if isinstance(turn, bool) or not isinstance(turn, int | float) or not abs(turn) < math.inf:
        return None
    try:
        return canonical(turn).decode()
    except NotCanonical:
        return str(turn)


def instant(at: object) -> Key:
    """Return a moment to compare by: exact to the last digit, whatever its offset; UTC if it has none."""
    match = _TIME.fullmatch(at) if isinstance(at, str) else None
    if match is None:
        return ABSENT
    day, clock, fraction, sign, hours, minutes = match.groups()
    try:
        seconds = int(datetime.fromisoformat(f"{day}T{clock}+00:00").timestamp())
    except ValueError:
        return ABSENT
    ahead = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if sign else 0
    return 0, seconds - ahead, (fraction or "").rstrip("0")


def block_of(turn: object, block_index: object) -> tuple[str, float] | None:
    """Return the block that a turn and an index name, or None if they name none."""
    name, index = turn_name(turn), index_of(block_index)
    return None if name is None or index is None else (name, index)


def _first_heard(forms: Iterable[Wire]) -> dict[str | None, Key]:
    """Return when each turn was first heard of, by the times of what is transient in it."""
    first: dict[str | None, Key] = {}
    for form in forms:
        if number(form.get("seq")) is None:
            turn, at = turn_name(form.get("turn")), instant(form.get("at"))
            first[turn] = min(at, first.get(turn, ABSENT))
    return first


def _rank(form: Wire, first: Mapping[str | None, Key]) -> Key:
    seq = number(form.get("seq"))
    if seq is not None:
        return 0, seq
    turn = turn_name(form.get("turn"))
    block, event = index_of(form.get("block_index")), index_of(form.get("event_index"))
    index = event if block is None else block
    return 1, first[turn], turn is not None, turn or "", _known(index), _known(event)


def _tie(ranked: tuple[Key, Wire, object]) -> Key:
    form = ranked[1]
    return instant(form.get("at")), turn_name(form.get("id")) or "", spelled(form)


def _known(index: float | None) -> Key:
    return ABSENT if index is None else (0, index)


def index_of(value: object) -> float | None:
    """Return a block's or an event's index, or None; 0 is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < math.inf else None


def spelled(form: Wire) -> str:
    """Return the one spelling of an item, to tell it from any other."""
    try:
        return canonical(dict(form)).decode()
    except NotCanonical:
        return json.dumps(form, sort_keys=True, ensure_ascii=False, default=str)
