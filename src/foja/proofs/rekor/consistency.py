"""R6: a newer tree of the log still begins with the tree of the proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foja.core.merkle import check_consistency
from foja.core.note import Checkpoint
from foja.errors import Tampered
from foja.proofs.finding import Reason
from foja.proofs.flaw import Flaw
from foja.proofs.rekor.log import signed_checkpoint
from foja.proofs.rekor.trusted_root import TransparencyLog


@dataclass(frozen=True, slots=True)
class Growth:
    """A newer checkpoint of a log, and the hashes that lead to it from a tree of `size` entries."""

    size: int
    note: str
    path: tuple[bytes, ...]


def check_growth(checkpoint: Checkpoint, log: TransparencyLog, growths: Iterable[Growth]) -> int | None:
    """Return the size of the newest tree that begins with this one, or None if none was given.

    A checkpoint that the log did not sign is ignored. Two signed trees that contradict each other are a flaw.
    """
    sizes = [_newer_size(checkpoint, log, each) for each in growths if each.size == checkpoint.size]
    return max((size for size in sizes if size is not None), default=None)


def _newer_size(checkpoint: Checkpoint, log: TransparencyLog, growth: Growth) -> int | None:
    try:
        newer = signed_checkpoint(growth.note, log)
    except Flaw:
        return None
    if newer.origin != checkpoint.origin or newer.size < checkpoint.size:
        return None
    try:
        check_consistency(checkpoint.size, checkpoint.root, newer.size, newer.root, growth.path)
    except Tampered as error:
        raise Flaw(Reason.LOG_INCONSISTENT, f"{log.name} signed inconsistent trees: {error}") from None
    return newer.size
