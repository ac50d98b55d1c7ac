"""What all parts of the check share: its inputs, the claims it compares with, its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foja.engine.blobs.store import Store
from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import Anomalies
from foja.engine.observe.logs import LogState, read_logs
from foja.engine.observe.snapshot import snapshot
from foja.errors import ObjectMissing, Tampered
from foja.pure.core.note import Checkpoint, Verifier, open_note, parse_checkpoint

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


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about a log: its root at one size. `who` names the origin of the statement."""

    who: str
    size: int
    root: bytes
    frontier: bytes | None = None


Claims = Mapping[int, Claim]  # by the origin of the log


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


async def read_published(url: str, outside: Outside, findings: Anomalies) -> Claims:
    """Return the published checkpoint of every log, by its origin."""
    async with snapshot(url) as moment:
        logs = await read_logs(moment)
    claims = [(log.origin, await _read_checkpoint(log, outside, findings)) for log in logs]
    return {origin: claim for origin, claim in claims if claim}


async def _read_checkpoint(log: LogState, outside: Outside, findings: Anomalies) -> Claim | None:
    expected = f"a published checkpoint of {log.name}"
    try:
        seen = outside.open((await outside.store.read(log.path("checkpoint"))).data)
    except ObjectMissing:
        if log.published is not None:
            findings.add("checkpoint", expected=expected, found="none in the store")
        return None
    except Tampered as error:
        findings.add("checkpoint", expected=expected, found=str(error))
        return None
    if seen.origin != log.name:
        findings.add("checkpoint", expected=expected, found=f"one of {seen.origin}")
    return Claim("the published checkpoint", seen.size, seen.root)
