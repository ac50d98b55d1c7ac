"""The reading order of a conversation. `order` in `interfaces/web/static/foja.js` is the same in JavaScript.

Persisted events come first, by number. Transient events follow, by turn: the turn with the
earliest event first, then by the turn's name. Within a turn, events with an index come first,
by `block_index`, or `event_index` if there is none, then by `event_index`; the others follow.
Ties are broken by time, then by id, then by content. A missing or invalid value counts as
absent and sorts after a valid one; 0 is valid.
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

from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical

Envelope: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[Any, ...]

ABSENT: Key = (1,)  # after every (0, …)
_TIME = re.compile(
    r"(?!0000)([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])(0[0-9]|1[0-4]):?([0-5][0-9]))?"
)


class HasEnvelope(Protocol):
    """An event or a transient event: it has an envelope."""

    def envelope(self) -> dict[str, Any]: ...


Item = TypeVar("Item", bound="Envelope | HasEnvelope")


def order(items: Iterable[Item]) -> list[Item]:
    """Return these items in reading order. The order of the input does not matter."""
    pairs = [(envelope_of(item), item) for item in items]
    first = _first_times(envelope for envelope, _ in pairs)
    ranked = sorted([(_rank(envelope, first), envelope, item) for envelope, item in pairs], key=itemgetter(0))
    runs = [list(run) for _, run in groupby(ranked, key=itemgetter(0))]
    return [item for run in runs for _, _, item in sorted(run, key=_tie if len(run) > 1 else None)]


def envelope_of(item: Envelope | HasEnvelope) -> Envelope:
    """Return an item as a JSON object."""
    return item if isinstance(item, Mapping) else item.envelope()


def number(value: object) -> int | None:
    """Return a valid sequence number, 0 included, or None."""
    index = index_of(value)
    return int(index) if index is not None and index == int(index) else None


def turn_name(turn: object) -> str | None:
    """Return a turn's name; a number becomes its text."""
    if isinstance(turn, str):
        return turn
    if isinstance(turn, bool) or not isinstance(turn, int | float) or not abs(turn) < math.inf:
        return None
    try:
        return canonical(turn).decode()
    except NotCanonical:
        return str(turn)


def instant(at: object) -> Key:
    """Return the sort key of a time: exact to the last digit, in UTC; UTC if it has no offset."""
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
    """Return the key of the block with this turn and index, or None if one is absent."""
    name, index = turn_name(turn), index_of(block_index)
    return None if name is None or index is None else (name, index)


def _first_times(envelopes: Iterable[Envelope]) -> dict[str | None, Key]:
    """Return the time of the earliest transient event of each turn."""
    first: dict[str | None, Key] = {}
    for envelope in envelopes:
        if number(envelope.get("seq")) is None:
            turn, at = turn_name(envelope.get("turn")), instant(envelope.get("at"))
            first[turn] = min(at, first.get(turn, ABSENT))
    return first


def _rank(envelope: Envelope, first: Mapping[str | None, Key]) -> Key:
    seq = number(envelope.get("seq"))
    if seq is not None:
        return 0, seq
    turn = turn_name(envelope.get("turn"))
    block, event = index_of(envelope.get("block_index")), index_of(envelope.get("event_index"))
    index = event if block is None else block
    return 1, first[turn], turn is not None, turn or "", _index_key(index), _index_key(event)


def _tie(ranked: tuple[Key, Envelope, object]) -> Key:
    envelope = ranked[1]
    return instant(envelope.get("at")), turn_name(envelope.get("id")) or "", canonical_text(envelope)


def _index_key(index: float | None) -> Key:
    return ABSENT if index is None else (0, index)


def index_of(value: object) -> float | None:
    """Return a valid index of a block or event, 0 included, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < math.inf else None


def canonical_text(envelope: Envelope) -> str:
    """Return the canonical text of an item. Different items have different texts."""
    try:
        return canonical(dict(envelope)).decode()
    except NotCanonical:
        return json.dumps(envelope, sort_keys=True, ensure_ascii=False, default=str)
