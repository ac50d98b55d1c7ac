"""The last entry of each stream, and what an entry that does not follow it means."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from foja.pure.quotation import quoted

Kind: TypeAlias = Literal[
    "fork", "gap", "malformed", "rewritten", "shrunk", "split", "unexplained", "unsigned", "replaced"
]
ID_BYTES, ROW_BYTES = 16, 52
_ENTRY_BYTES, _ID, _NUMBER, _HASH = 57, slice(1, 17), slice(17, 25), slice(25, 57)
_LEAF = 0x04
_PLACE = struct.Struct(">IQ")  # the number of the log, and the index of the entry


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log shows and that an honest one does not; `replaced` alone is no fault."""

    kind: Kind
    log: str
    detail: str
    entity_id: str | None = None
    seq: int | None = None
    index: int | None = None

    @property
    def is_fault(self) -> bool:
        """Whether the log contradicts itself or hides something."""
        return self.kind != "replaced"


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a stream: its number, its hash, and its place: the log's number and the index."""

    seq: int
    digest: bytes
    log: int
    index: int

    @classmethod
    def decode(cls, row: bytes) -> Head:
        """Return what a row of the table holds."""
        return cls(int.from_bytes(row[:8], "big"), row[8:40], *_PLACE.unpack(row[40:]))


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a restart closed a log, and the first number of each stream that it left out, by its hex."""

    closed: int
    lost: Mapping[str, int]


def note_lost(lost: dict[str, int], entries: Iterable[bytes]) -> None:
    """Add the first number of each stream in entries that a restart left out."""
    for entry in entries:
        if len(entry) == _ENTRY_BYTES and entry[0] == _LEAF:
            lost.setdefault(entry[_ID].hex(), int.from_bytes(entry[_NUMBER], "big"))


def lost_at_most(rows: Mapping[bytes, bytes], log: int, closed: int, seen: int) -> dict[str, int]:
    """Return the first number of each stream that a restart may have left out, by its last one."""
    heads = ((key, Head.decode(row)) for key, row in rows.items())
    lost = ((key, head) for key, head in heads if head.log == log and head.index >= closed)
    return {key.hex(): max(0, head.seq + 1 - (seen - closed)) for key, head in lost}


class Streams:
    """The last entries of all streams, and on top of them those of a tree that is not verified yet."""

    def __init__(self, rows: dict[bytes, bytes], *, partial: bool = False) -> None:
        """`partial`: the logs before the first one that was read are not known."""
        self._rows, self._partial = rows, partial
        self._staged = dict[bytes, bytes]()

    def commit(self) -> None:
        """Keep what was staged: the tree is the one that was signed."""
        self._rows.update(self._staged)
        self._staged = {}

    def discard(self) -> None:
        """Forget what was staged."""
        self._staged = {}

    def follow(
        self, log: str, number: int, start: int, entries: Iterable[bytes], cuts: Mapping[int, Cut]
    ) -> Iterator[Finding]:
        """Stage these entries of a log, from index `start` on, and yield what is wrong with them."""
        rows, staged, pack = self._rows, self._staged, _PLACE.pack
        for index, entry in enumerate(entries, start):
            if len(entry) != _ENTRY_BYTES or entry[0] != _LEAF:
                yield Finding(
                    "malformed", log, f"entry {index} of {quoted(log)} is not one of a stream", index=index
                )
                continue
            key = entry[_ID]
            known = staged.get(key) or rows.get(key)
            expected = int.from_bytes(known[:8], "big") + 1 if known else 0
            if int.from_bytes(entry[_NUMBER], "big") != expected:
                found = self._explain(log, number, index, entry, known, cuts)
                if found:
                    yield found
                if not found or found.is_fault:
                    continue
            staged[key] = entry[17:] + pack(number, index)

    def _explain(
        self, log: str, number: int, index: int, entry: bytes, known: bytes | None, cuts: Mapping[int, Cut]
    ) -> Finding | None:
        """Return what an entry means that does not follow the last one; None for the same one again."""
        seq, stream = int.from_bytes(entry[_NUMBER], "big"), str(UUID(bytes=entry[_ID]))
        about = (stream, seq, index)
        if known is None:
            if self._partial:
                self._staged[entry[_ID]] = entry[17:] + _PLACE.pack(number, index)
                return None
            return Finding(
                "gap", log, f"{stream} begins with number {seq} at entry {index} of {quoted(log)}", *about
            )
        last = Head.decode(known)
        if (seq, entry[_HASH]) == (last.seq, last.digest):
            return None
        if seq > last.seq:
            detail = f"{stream} goes from number {last.seq} to {seq} at entry {index} of {quoted(log)}"
            return Finding("gap", log, detail, *about)
        cut = cuts.get(last.log) if last.log != number else None
        if cut and seq >= cut.lost.get(entry[_ID].hex(), last.seq + 1):
            detail = f"{stream} was replaced after restart, from number {seq} on; {last.seq} was seen before"
            return Finding("replaced", log, detail, *about)
        where = f"from number {last.seq} back to {seq} at entry {index} of {quoted(log)}"
        detail = f"{stream} has two histories: {where}"
        return Finding("fork", log, detail, *about)
