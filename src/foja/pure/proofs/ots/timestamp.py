"""A timestamp as calendars send it: all ways from one message to an attestation, read, merged and written.

It is what an `.ots` file holds after its digest. Here it can change: a calendar's answer about the
message of a promise is added below that promise, and the timestamps of several calendars become one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from foja.errors import Tampered
from foja.pure.proofs.ots.stamp import (
    APPEND,
    ATTESTATION,
    FORK,
    MAX_BYTES,
    PREPEND,
    Attestation,
    Reader,
    Replay,
)

# The tools of OpenTimestamps refuse more than 256 operations; the path of a batch comes before these.
MAX_OPERATIONS = 160


@dataclass(frozen=True, slots=True)
class Branch:
    """One way from the message to an attestation."""

    operations: tuple[bytes, ...]  # each as it is written
    written: bytes  # the attestation, as it is written
    attestation: Attestation

    @property
    def key(self) -> tuple[tuple[bytes, ...], bytes]:
        """What makes it different from others, and puts it in order."""
        return self.operations, self.written


@dataclass(frozen=True, slots=True)
class Timestamp:
    """What attestations say about one message."""

    message: bytes
    branches: tuple[Branch, ...]

    @classmethod
    def parse(cls, message: bytes, data: bytes) -> Timestamp:
        """Return the timestamp of a message in these bytes, or raise `Tampered`."""
        if len(data) > MAX_BYTES:
            raise Tampered(f"a timestamp of {len(data)} bytes is over the limit of {MAX_BYTES}")
        attestations = Replay(Reader(data), message).attestations()
        ways = zip(_ways(data), attestations, strict=True)
        return cls(message, tuple(Branch(*way, each) for way, each in ways))

    def merge(self, *others: Timestamp) -> Timestamp:
        """Return a timestamp with the branches of all, each once, in one order."""
        branches = {each.key: each for stamp in (self, *others) for each in stamp.branches}
        return Timestamp(self.message, tuple(branches[key] for key in sorted(branches)))

    def extend(self, branch: Branch, answer: Timestamp) -> Timestamp:
        """Return the timestamp with an answer about the message at the end of a branch."""
        if answer.message != branch.attestation.message:
            raise Tampered("the answer is about another message than the promise")
        below = tuple(
            replace(each, operations=branch.operations + each.operations) for each in answer.branches
        )
        for each in below:
            _check_length(each.operations)
        return self.merge(Timestamp(self.message, below))

    def select(self, keep: Callable[[Branch], bool]) -> Timestamp:
        """Return the timestamp with only some of its branches."""
        return Timestamp(self.message, tuple(each for each in self.branches if keep(each)))

    def of_kind(self, kind: str) -> list[Branch]:
        """Return the branches that end in an attestation of this kind."""
        return [each for each in self.branches if each.attestation.kind == kind]

    def is_fulfilled(self, promise: Branch) -> bool:
        """Return whether a branch leads from the end of a calendar's promise to a Bitcoin block."""
        size = len(promise.operations)
        return any(
            each.operations[:size] == promise.operations and len(each.operations) > size
            for each in self.of_kind("bitcoin")
        )

    def encode(self) -> bytes:
        """Return the timestamp as bytes; the same branches give the same bytes."""
        if not self.branches:
            raise ValueError("a timestamp without an attestation cannot be written")
        return _encode(sorted({each.key for each in self.branches}), 0)


def _ways(data: bytes) -> list[tuple[tuple[bytes, ...], bytes]]:
    """Return operations and attestation of each branch of a timestamp that was replayed before."""
    reader, found = Reader(data), list[tuple[tuple[bytes, ...], bytes]]()
    forks, path = list[tuple[bytes, ...]](), tuple[bytes, ...]()
    while reader.at < len(data):
        start, tag = reader.at, reader.byte()
        if tag == FORK:
            forks.append(path)
            continue
        if tag != ATTESTATION:
            if tag in (APPEND, PREPEND):
                reader.text(MAX_BYTES)
            path = (*path, data[start : reader.at])
            _check_length(path)
            continue
        reader.take(8)
        reader.text(MAX_BYTES)
        found.append((path, data[start + 1 : reader.at]))
        path = forks.pop() if forks else ()
    return found


def _check_length(operations: Sequence[bytes]) -> None:
    if len(operations) > MAX_OPERATIONS:
        raise Tampered(f"a timestamp has more than {MAX_OPERATIONS} operations on one path")


def _encode(keys: Sequence[tuple[tuple[bytes, ...], bytes]], depth: int) -> bytes:
    """Return branches in order that share their first operations: attestations first, then the others."""
    ends = [bytes([ATTESTATION]) + written for operations, written in keys if len(operations) == depth]
    longer = [each for each in keys if len(each[0]) > depth]
    others = [
        operation + _encode([*group], depth + 1)
        for operation, group in groupby(longer, key=lambda each: each[0][depth])
    ]
    parts: list[bytes] = ends + others
    return b"".join(bytes([FORK]) + each for each in parts[:-1]) + parts[-1]
