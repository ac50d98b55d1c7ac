"""What a person sees of a conversation. `ConversationView` in `web/static/foja.js` is the same.

Fed with whatever comes, in whatever order and as often as it comes: a persisted event
replaces what stood at its number, what is transient goes away with the event that names
its block, with the end of its turn or of its session. So a view that was fed live and one
that was loaded afresh are equal as soon as nothing is in passing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from foja.conversations.model.order import (
    HasEnvelope,
    Key,
    Wire,
    block_of,
    index_of,
    instant,
    number,
    order,
    spelled,
    turn_name,
    wire,
)
from foja.conversations.model.pairing import Pairing, body

Shown: TypeAlias = dict[str, Any]
CHUNKS = frozenset({"message_chunk", "thinking_chunk"})
ENDS = frozenset({"complete", "session_end"})
OPEN = "slot.open"
NEVER: Key = (-1,)  # before every instant


class ConversationView:
    """A conversation as far as it is known. Adding to it makes a new one."""

    __slots__ = ("_blocks", "_closed", "_ended", "_events", "_passing", "_silent")

    def __init__(self, items: Iterable[Wire | HasEnvelope] = ()) -> None:
        self._forget()
        for item in items:
            self._take(wire(item))

    def add(self, *items: Wire | HasEnvelope) -> ConversationView:
        """Return the view after these items: events, what is transient, resets."""
        new = ConversationView()
        new._events, new._passing = dict(self._events), dict(self._passing)
        new._blocks, new._ended = set(self._blocks), set(self._ended)
        new._silent, new._closed = self._silent, self._closed
        for item in items:
            new._take(wire(item))
        return new

    @property
    def settled(self) -> bool:
        """Is nothing in passing? Then a fresh load shows the same."""
        return not self._passing

    def items(self) -> list[Shown]:
        """Return everything to be shown, in reading order."""
        pairing = Pairing(self._events)
        shown = [_show(form, *pairing.of(seq)) for seq, form in sorted(pairing.events.items())]
        return shown + _fold(self._passing.values())

    def _forget(self) -> None:
        self._events: dict[int, Wire] = {}
        self._passing: dict[str, Wire] = {}
        self._blocks: set[tuple[str, float]] = set()
        self._ended: set[str] = set()
        self._silent = self._closed = NEVER

    def _take(self, form: Wire) -> None:
        seq, kind = number(form.get("seq")), form.get("kind")
        if kind == "reset":
            self._forget()
        elif seq is not None:
            self._record(seq, form)
        elif kind in ENDS:
            self._end(form)
        elif (kind in CHUNKS or kind == "error") and not self._is_over(form):
            self._passing[turn_name(form.get("id")) or spelled(form)] = form

    def _record(self, seq: int, form: Wire) -> None:
        known = self._events.get(seq)
        # A number never opens again, and an erased body never comes back.
        erased = form.get("payload") is None and form.get("kind") != OPEN
        if known is None or known.get("kind") == OPEN or erased:
            self._events[seq] = form
        block = block_of(body(form).get("turn"), body(form).get("block_index"))
        if block is not None and block not in self._blocks:
            self._blocks.add(block)
            self._clear()

    def _end(self, form: Wire) -> None:
        turn, at = turn_name(form.get("turn")), instant(form.get("at"))
        if turn is not None:
            self._ended.add(turn)
        elif form["kind"] == "complete":
            self._silent = max(self._silent, at)
        if form["kind"] == "session_end":
            self._closed = max(self._closed, at)
        self._clear()

    def _clear(self) -> None:
        self._passing = {name: form for name, form in self._passing.items() if not self._is_over(form)}

    def _is_over(self, form: Wire) -> bool:
        """Say whether this belongs to a block that is persisted, or to a turn or session that ended."""
        turn, at = turn_name(form.get("turn")), instant(form.get("at"))
        silent = turn in self._ended if turn is not None else at <= self._silent
        return silent or at <= self._closed or block_of(turn, form.get("block_index")) in self._blocks


def reduce(view: ConversationView, item: Wire | HasEnvelope) -> ConversationView:
    """Return the view after one more item."""
    return view.add(item)


def _show(form: Wire, state: str | None, pair: int | None) -> Shown:
    shown = {name: value for name, value in form.items() if name != "cursor"}
    if form.get("kind") == OPEN:  # its deadline may move without a word
        shown["payload"] = {"intent": body(form).get("intent")}
    return {**shown, "state": state, "pair": pair}


def _fold(passing: Iterable[Wire]) -> list[Shown]:
    """Return the blocks in progress, the chunks of each as one, and errors as they are, in reading order."""
    blocks: dict[object, list[Wire]] = {}
    for place, form in enumerate(order(passing)):
        block = (form["kind"], turn_name(form.get("turn")), index_of(form.get("block_index")))
        blocks.setdefault(block if form["kind"] in CHUNKS else place, []).append(form)
    return [_progress(forms) if forms[0]["kind"] in CHUNKS else _error(forms[0]) for forms in blocks.values()]


def _progress(chunks: list[Wire]) -> Shown:
    """Return one block in progress. It is partial if a piece of it was missed, its first one included.

    Without a block index the pieces are counted along the turn, and nothing can be missed for sure.
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


def _error(form: Wire) -> Shown:
    return _show(form, "error", None)
