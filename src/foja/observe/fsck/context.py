"""The inputs and outputs that all parts of the check share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foja.blobs.store import Store
from foja.core.note import Checkpoint, Verifier, open_note, parse_checkpoint
from foja.observe.findings import Anomalies
from foja.observe.snapshot import Snapshot

Progress = Callable[[int, int], None]
EVERY = 500


@dataclass(frozen=True, slots=True)
class Outside:
    """What the database is compared with: the store, the keys, a checkpoint kept elsewhere."""

    store: Store
    verifiers: Sequence[Verifier]
    external: str | None = None

    def open(self, note: str | bytes) -> Checkpoint:
        """Return the checkpoint in a note that one of our keys signed, or raise `Tampered`."""
        return parse_checkpoint(open_note(note, self.verifiers))


@dataclass(slots=True)
class Meter:
    """Counts rows and reports the progress of the check."""

    total: int
    report: Progress | None
    done: int = 0

    def tick(self, count: int = 1) -> None:
        """Count `count` more rows."""
        before, self.done = self.done, self.done + count
        if self.report and self.done // EVERY > before // EVERY:
            self.report(self.done, max(self.done, self.total))

    def end(self) -> None:
        """Report that the check is complete."""
        if self.report:
            self.report(self.done, self.done)


@dataclass(frozen=True, slots=True)
class CheckContext:
    """One run of the check."""

    moment: Snapshot
    outside: Outside
    findings: Anomalies
    meter: Meter
