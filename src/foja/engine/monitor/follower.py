"""Read what is new in every log of an installation, and compare it with all that was seen before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count

from foja.engine.monitor.files import LogFiles
from foja.engine.monitor.received import Received
from foja.engine.monitor.source import Source
from foja.engine.monitor.state import MAX_FINDINGS, FollowedLog, State
from foja.engine.monitor.streams import Finding, Kind, Streams, lost_at_most, note_lost
from foja.engine.remote.online import NotPublic
from foja.errors import ObjectMissing, Refused, Tampered, Unavailable
from foja.pure.core.merkle import leaf_hash
from foja.pure.core.note import (
    FIRST,
    Checkpoint,
    Restart,
    Verifier,
    number_of,
    open_note,
    parse_checkpoint,
    restart_of,
)
from foja.pure.quotation import quoted

_EMPTY = 4  # restarts in a row without an entry: such a log has no checkpoint


class Monitor:
    """Follows the logs of one name. Memory grows with the number of streams, not of entries."""

    def __init__(
        self, source: Source, verifiers: Sequence[Verifier], restarts: Collection[str], state: State
    ) -> None:
        """`restarts` are origins that are accepted although nothing shows the head that they name."""
        self._source, self._restarts, self.state = source, restarts, state
        self._keys = [each for each in verifiers if each.name == state.name]
        self._streams = Streams(state.rows, partial=state.partial)
        self.new = list[Finding]()
        self.ahead = list[str]()

    async def poll(self, time: int, received: Sequence[Received] = ()) -> None:
        """Read what is new; `new` is what was found for the first time. Raise `Unavailable` if it cannot.

        `received` are checkpoints that others were shown. Those of a larger tree than is shown here cannot be
        compared yet: they are in `ahead`.
        """
        self.new, self.ahead = [], []
        missing = 0
        for number in count(FIRST):
            try:
                note = await self._source.read(f"{number}/checkpoint")
            except ObjectMissing:
                missing += 1
                if number in self.state.logs:
                    self._add(
                        "shrunk", self.state.logs[number].origin, "its checkpoint is not shown any more"
                    )
            else:
                await self._follow(number, note)
                missing = 0 if number in self.state.logs else missing + 1
            if missing > _EMPTY and number > max(self.state.logs, default=0):
                break
        for each in received:
            await self._compare_received(each)
        if not self.state.logs and not self.new:
            raise Unavailable("no checkpoint is published there; is this the address of a log?")
        self.state.time = time

    async def _follow(self, number: int, note: bytes) -> None:
        try:
            checkpoint = parse_checkpoint(open_note(note, self._keys))
        except (Tampered, Refused) as error:
            self._add("unsigned", f"log {number}", str(error))
            return
        log = self.state.logs.get(number) or await self._open(number, checkpoint)
        if log is None:
            return
        if checkpoint.origin != log.origin:
            self._add("unexplained", checkpoint.origin, f"log {number} was {quoted(log.origin)} before")
            return
        await self._compare(log, checkpoint)

    async def _compare(self, log: FollowedLog, new: Checkpoint) -> None:
        """Read what is new, or find that what was seen is not there any more."""
        size, limit = log.frontier.size, log.closed
        if new.size < size or (new.size == size and new.root != log.frontier.root()):
            if not await self._files(log).has_prefix(
                log.checkpoint, new.size, new.root
            ):  # else an older answer
                kind: Kind = "shrunk" if new.size < size else "rewritten"
                self._add(kind, log.origin, f"{size} entries were seen, and {new.size} with another root now")
        elif limit is not None and new.size > max(limit, size):
            self._add("unexplained", log.origin, f"it was closed at {limit} entries, and has {new.size} now")
        elif new.size > size and not await self._grow(log, new):
            detail = f"its {new.size} entries do not continue the {size} that were seen"
            self._add("rewritten", log.origin, detail)

    async def _open(self, number: int, new: Checkpoint) -> FollowedLog | None:
        """Return a log that is new, if it is the first or continues the one before it."""
        known, restart = self.state.logs, restart_of(self.state.name, new.origin)
        stated = number_of(self.state.name, new.origin)
        before = max((each for each in known if each < number), default=None)
        if stated == FIRST == number:
            explained = not known
        elif restart is None or stated != number or any(each > number for each in known):
            explained = False
        elif before is None:
            explained = new.origin in self._restarts
            self.state.partial = self.state.partial or explained
            self._streams = Streams(self.state.rows, partial=self.state.partial)
        else:
            shown = await self._has_head(known[before], restart.size, restart.root)
            explained = shown or new.origin in self._restarts
            if explained:
                lost = await self._lost(known[before], restart, named=new.origin in self._restarts)
                known[before].closed, known[before].lost = restart.size, lost
        if not explained:
            self._add("unexplained", new.origin, "it does not name a head that the log before it shows")
            return None
        self.state.logs[number] = FollowedLog(number, new.origin)
        return self.state.logs[number]

    async def _has_head(self, log: FollowedLog, size: int, root: bytes) -> bool:
        """Return whether a log shows this head: it grew to it, or was it on the way. None has no entries."""
        if not size and log.frontier.size:
            return False
        if size <= log.frontier.size:
            return await self._files(log).has_prefix(log.checkpoint, size, root)
        try:
            return await self._grow(log, Checkpoint(log.origin, size, root))
        except Unavailable:
            return False

    async def _lost(self, log: FollowedLog, restart: Restart, *, named: bool) -> dict[str, int]:
        """Return the first number of each stream that a restart from an older head leaves out of a log.

        Where the entries are gone and the reader accepts the restart by name, it is at most what is possible.
        """
        high, files, lost = log.frontier.size, self._files(log), dict[str, int]()
        if restart.size >= high or self.state.unread:
            return lost
        try:
            frontier = await files.frontier(restart.size, high)
            async for entries in files.entries(restart.size, high):
                note_lost(lost, entries)
                frontier = frontier.extend(map(leaf_hash, entries))
            if frontier.root() != log.frontier.root():
                raise Unavailable(
                    f"the entries after the restart of log {log.number} are not those of before"
                )
        except Unavailable:
            if not named:
                raise
            return lost_at_most(self.state.rows, log.number, restart.size, high)
        return lost

    async def _grow(self, log: FollowedLog, new: Checkpoint) -> bool:
        """Read the new entries of a log. Return whether they lead to this root; else nothing is kept."""
        if self.state.unread:
            return await self._grow_unread(log, new)
        self._streams.discard()  # a poll that could not read everything staged a part
        frontier, found = log.frontier, _Found()
        try:
            async for entries in self._files(log).entries(frontier.size, new.size):
                size, cuts = frontier.size, self.state.cuts
                found.take(self._streams.follow(log.origin, log.number, size, entries, cuts))
                frontier = frontier.extend(map(leaf_hash, entries))
        except NotPublic:
            if self.state.rows:  # they were public before
                raise
            self.state.unread = True
            return await self._grow_unread(log, new)
        if frontier.root() != new.root:
            self._streams.discard()
            return False
        self._streams.commit()
        log.frontier = frontier
        for each in found.kept:
            self._remember(each)
        return True

    async def _grow_unread(self, log: FollowedLog, new: Checkpoint) -> bool:
        """Return whether the tree of a log grew to this one, by its hashes alone."""
        files, old = self._files(log), log.checkpoint
        frontier = await files.frontier(new.size, new.size)
        if frontier.root() != new.root or not await files.has_prefix(new, old.size, old.root):
            return False
        log.frontier = frontier
        return True

    async def _compare_received(self, received: Received) -> None:
        """Compare a checkpoint that others were shown, if the key of the log signed it."""
        try:
            other = parse_checkpoint(open_note(received.note, self._keys))
        except (Tampered, Refused):
            return
        number, origin = number_of(self.state.name, other.origin), quoted(other.origin)
        log = self.state.logs.get(number or 0)
        if log is None or (log.origin != other.origin and number != FIRST):  # `NAME/1` is the first log too
            self._add("split", other.origin, "others were shown this log, and it is not shown here")
        elif other.size > log.frontier.size:
            self.ahead.append(f"{origin}: others were shown {other.size} entries, here {log.frontier.size}")
        elif not await self._files(log).has_prefix(log.checkpoint, other.size, other.root):
            self._add("split", other.origin, f"others were shown {other.size} entries with another root")

    def _files(self, log: FollowedLog) -> LogFiles:
        return LogFiles(self._source, log.number)

    def _add(self, kind: Kind, log: str, detail: str) -> None:
        self._remember(Finding(kind, log, f"{quoted(log)}: {detail}"))

    def _remember(self, found: Finding) -> None:
        alike = [each for each in self.state.findings if each.is_fault == found.is_fault]
        if found not in alike and len(alike) < MAX_FINDINGS:
            self.state.findings.append(found)
            self.new.append(found)


class _Found:
    """The first findings of a tree: so many faults, and so many that are none."""

    def __init__(self) -> None:
        self.kept = list[Finding]()
        self._room = {True: MAX_FINDINGS, False: MAX_FINDINGS}

    def take(self, findings: Iterator[Finding]) -> None:
        """Keep them while there is room; go through all of them."""
        for each in findings:
            if self._room[each.is_fault]:
                self._room[each.is_fault] -= 1
                self.kept.append(each)
