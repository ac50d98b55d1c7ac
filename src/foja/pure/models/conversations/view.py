"""What a page shows of a conversation. `View` in `interfaces/web/static/foja.js` is the same in JavaScript.

Items may be added in any order and repeatedly. A persisted event replaces the open slot of
its number. A transient event is removed by the persisted event of its block, by the end of
its turn or of its session. So a live view and a reloaded one are equal as soon as no
transient event is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from foja.pure.models.conversations.order import (
    Envelope,
    HasEnvelope,
    Key,
    block_of,
    canonical_text,
    envelope_of,
    index_of,
    instant,
    number,
    order,
    turn_name,
)
from foja.pure.models.conversations.pairs import Pairs, body

Shown: TypeAlias = dict[str, Any]
CHUNKS = frozenset({"message_chunk", "thinking_chunk"})
ENDS = frozenset({"complete", "session_end"})
OPEN = "slot.open"
NEVER: Key = (-1,)  # before every instant


class ConversationView:
    """An immutable view of a conversation: adding items returns a new view."""

    __slots__ = ("_blocks", "_closed_at", "_completed_at", "_ended", "_events", "_transients")

    def __init__(self, items: Iterable[Envelope | HasEnvelope] = ()) -> None:
        self._reset()
        for item in items:
            self._apply(envelope_of(item))

    def add(self, *items: Envelope | HasEnvelope) -> ConversationView:
        """Return the view after these items: events, transient events, resets."""
        new = ConversationView()
        new._events, new._transients = dict(self._events), dict(self._transients)
        new._blocks, new._ended = set(self._blocks), set(self._ended)
        new._completed_at, new._closed_at = self._completed_at, self._closed_at
        for item in items:
            new._apply(envelope_of(item))
        return new

    @property
    def settled(self) -> bool:
        """True if no transient event is left. Then a reload shows the same."""
        return not self._transients

    def items(self) -> list[Shown]:
        """Return the items to show, in reading order."""
        pairs = Pairs(self._events)
        shown = [_show(item, *pairs.of(seq)) for seq, item in sorted(pairs.events.items())]
        return shown + _fold(self._transients.values())

    def _reset(self) -> None:
        self._events: dict[int, Envelope] = {}
        self._transients: dict[str, Envelope] = {}
        self._blocks: set[tuple[str, float]] = set()
        self._ended: set[str] = set()
        self._completed_at = self._closed_at = NEVER

    def _apply(self, item: Envelope) -> None:
        seq, kind = number(item.get("seq")), item.get("kind")
        if kind == "reset":
            self._reset()
        elif seq is not None:
            self._record(seq, item)
        elif kind in ENDS:
            self._end(item)
        elif (kind in CHUNKS or kind == "error") and not self._has_ended(item):
            self._transients[turn_name(item.get("id")) or canonical_text(item)] = item

    def _record(self, seq: int, item: Envelope) -> None:
        known = self._events.get(seq)
        # A filled slot never reopens, and an erased body never returns.
        erased = item.get("payload") is None and item.get("kind") != OPEN
        if known is None or known.get("kind") == OPEN or erased:
            self._events[seq] = item
        block = block_of(body(item).get("turn"), body(item).get("block_index"))
        if block is not None and block not in self._blocks:
            self._blocks.add(block)
            self._drop_ended()

    def _end(self, item: Envelope) -> None:
        turn, at = turn_name(item.get("turn")), instant(item.get("at"))
        if turn is not None:
            self._ended.add(turn)
        elif item["kind"] == "complete":
            self._completed_at = max(self._completed_at, at)
        if item["kind"] == "session_end":
            self._closed_at = max(self._closed_at, at)
        self._drop_ended()

    def _drop_ended(self) -> None:
        self._transients = {key: item for key, item in self._transients.items() if not self._has_ended(item)}

    def _has_ended(self, item: Envelope) -> bool:
        """Return whether the block is persisted, or the turn or session has ended."""
        turn, at = turn_name(item.get("turn")), instant(item.get("at"))
        ended = turn in self._ended if turn is not None else at <= self._completed_at
        return ended or at <= self._closed_at or block_of(turn, item.get("block_index")) in self._blocks


def reduce(view: ConversationView, item: Envelope | HasEnvelope) -> ConversationView:
    """Return the view after one more item."""
    return view.add(item)


def _show(item: Envelope, state: str | None, pair: int | None) -> Shown:
    shown = {name: value for name, value in item.items() if name != "cursor"}
    if item.get("kind") == OPEN:  # its deadline may change without an event
        shown["payload"] = {"intent": body(item).get("intent")}
    return {**shown, "state": state, "pair": pair}


def _fold(transients: Iterable[Envelope]) -> list[Shown]:
    """Return the blocks in progress, each with its chunks joined, and the errors, in reading order."""
    blocks: dict[object, list[Envelope]] = {}
    for place, item in enumerate(order(transients)):
        block = (item["kind"], turn_name(item.get("turn")), index_of(item.get("block_index")))
        blocks.setdefault(block if item["kind"] in CHUNKS else place, []).append(item)
    return [
        _join(group) if group[0]["kind"] in CHUNKS else _show(group[0], "error", None)
        for group in blocks.values()
    ]


def _join(chunks: list[Envelope]) -> Shown:
    """Return one block in progress. It is partial if a chunk is missing, the first one included.

    Without a block index, chunks are numbered along the turn, so a gap does not prove a missing chunk.
    """
    pieces: dict[object, str] = {}
    for place, chunk in enumerate(chunks):
        index, text = index_of(chunk.get("event_index")), body(chunk).get("text")
        pieces.setdefault((place,) if index is None else index, text if isinstance(text, str) else "")
    indexes = [key for key in pieces if not isinstance(key, tuple)]
    partial = index_of(chunks[0].get("block_index")) is not None and indexes != list(range(len(indexes)))
    return {
        **_show(chunks[0], "streaming", None),
        "payload": {"text": "".join(pieces.values())},
        "partial": partial,
    }
