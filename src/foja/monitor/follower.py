"""Read what is new in every log of an installation, and compare it with all that was seen before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from itertools import count

from foja.core import tiles
from foja.core.merkle import check_consistency, leaf_hash
from foja.core.note import (
    FIRST,
    Checkpoint,
    Verifier,
    number_of,
    open_note,
    parse_checkpoint,
    restart_of,
)
from foja.errors import ObjectMissing, Refused, Tampered, Unavailable
from foja.monitor.source import Source
from foja.monitor.state import FollowedLog, State
from foja.monitor.streams import Finding, Kind, Streams

MAX_FINDINGS = 1000  # remembered; a log that forks a thousand times is not trusted for the rest
_EMPTY = 4  # restarts in a row without an entry: such a log has no checkpoint
_AHEAD = 16  # files that are asked for together


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

    async def poll(self, time: int) -> None:
        """Read what is new; `new` is what was found for the first time. Raise `Unavailable` if it cannot."""
        self.new = []
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
                if missing > _EMPTY and number > max(self.state.logs, default=0):
                    break
                continue
            missing = 0
            await self._follow(number, note)
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
            self._add("unexplained", checkpoint.origin, f"log {number} was {log.origin} before")
            return
        await self._compare(log, checkpoint)

    async def _compare(self, log: FollowedLog, new: Checkpoint) -> None:
        """Read what is new, or find that what was seen is not there any more."""
        size, limit = log.frontier.size, log.closed
        if new.size < size or (new.size == size and new.root != log.frontier.root()):
            if not await self._has_prefix(log, new.size, new.root):  # else an older answer
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
                known[before].closed = restart.size
        if not explained:
            self._add("unexplained", new.origin, "it does not name a head that the log before it shows")
            return None
        self.state.logs[number] = FollowedLog(number, new.origin)
        return self.state.logs[number]

    async def _has_head(self, log: FollowedLog, size: int, root: bytes) -> bool:
        """Return whether a log shows this head: it grew to it, or was it on the way."""
        if size <= log.frontier.size:
            return await self._has_prefix(log, size, root)
        try:
            return await self._grow(log, Checkpoint(log.origin, size, root))
        except Unavailable:
            return False

    async def _has_prefix(self, log: FollowedLog, size: int, root: bytes) -> bool:
        """Return whether the tree that was seen begins with this one, as the tiles of the log show."""
        seen = log.checkpoint
        if size == seen.size or size == 0:
            return size == 0 or root == seen.root
        try:
            needed = tiles.consistency_tiles(size, seen.size)
            files = {tile: await self._tile(log.number, tile) for tile in needed}
            proof = tiles.prove_consistency(size, seen.size, files)
            check_consistency(size, root, seen.size, seen.root, proof)
        except (ObjectMissing, Tampered):
            return False
        return True

    async def _grow(self, log: FollowedLog, new: Checkpoint) -> bool:
        """Read the new entries of a log. Return whether they lead to this root; else nothing is kept."""
        frontier, found = log.frontier, list[Finding]()
        async for entries in self._entries(log.number, frontier.size, new.size):
            followed = self._streams.follow(log.origin, log.number, frontier.size, entries, self.state.cuts)
            found += [each for each, _ in zip(followed, range(MAX_FINDINGS), strict=False)]
            frontier = frontier.extend(map(leaf_hash, entries))
        if frontier.root() != new.root:
            self._streams.discard()
            return False
        self._streams.commit()
        log.frontier = frontier
        for each in found:
            self._remember(each)
        return True

    async def _entries(self, number: int, low: int, high: int) -> AsyncIterator[list[bytes]]:
        """Yield the entries from `low` up to `high`, a file after the other."""
        width = tiles.WIDTH
        indexes = range(low // width, -(-high // width))
        for at in range(0, len(indexes), _AHEAD):
            some = indexes[at : at + _AHEAD]
            files = await asyncio.gather(*(self._bundle(number, each, high) for each in some))
            for index, entries in zip(some, files, strict=True):
                yield entries[max(0, low - index * width) :]

    async def _bundle(self, number: int, index: int, size: int) -> list[bytes]:
        """Return the entries of one file up to this size of the log."""
        width = min(tiles.WIDTH, size - index * tiles.WIDTH)
        try:
            data = await self._partial(number, tiles.entries_path(index, width), tiles.entries_path(index))
            entries = tiles.decode_entries(data)
        except (ObjectMissing, Tampered) as error:
            raise Unavailable(f"the entries of log {number} cannot be read: {error}") from None
        if len(entries) < width:
            raise Unavailable(f"the entries of log {number} are not complete: {len(entries)} in file {index}")
        return entries[:width]

    async def _tile(self, number: int, tile: tiles.Tile) -> bytes:
        return await self._partial(number, tile.path, tiles.Tile(tile.level, tile.index).path)

    async def _partial(self, number: int, path: str, whole: str) -> bytes:
        """Return a file; a log may delete a partial one when the whole one is there."""
        try:
            return await self._source.read(f"{number}/{path}")
        except ObjectMissing:
            if path == whole:
                raise
            return await self._source.read(f"{number}/{whole}")

    def _add(self, kind: Kind, log: str, detail: str) -> None:
        self._remember(Finding(kind, log, f"{log}: {detail}"))

    def _remember(self, found: Finding) -> None:
        if found not in self.state.findings and len(self.state.findings) < MAX_FINDINGS:
            self.state.findings.append(found)
            self.new.append(found)
