"""Check one log: its leaves have no gap, and the tree has the signed root at every checkpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing

from foja.engine.observe.fsck.context import CheckContext, Claim
from foja.engine.observe.fsck.rows import Ahead, CheckpointRow, LeafRow
from foja.engine.observe.fsck.tiles import Name, TileCheck, first_difference, read
from foja.engine.observe.logs import LogState
from foja.errors import Tampered
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.tiles import WIDTH, entries_path

STEP_LEAVES = 4 * WIDTH


class TreeCheck:
    """Builds the tree of one log again, leaf by leaf, and compares it with every claim."""

    def __init__(self, context: CheckContext, log: LogState, published: Claim | None, *, tiles: bool) -> None:
        self._context, self._log, self._published = context, log, published
        self._tiles = TileCheck(context, log) if tiles and published else None
        self._frontier, self._broken = Frontier(), False
        self._changed: Name | None = None
        self._searched = 0

    async def run(self, claims: Iterable[Claim]) -> None:
        """Check the log against its own checkpoints and these other claims."""
        async with aclosing(
            self._context.moment.rows("fsck_leaves", LeafRow, origin=self._log.origin)
        ) as rows:
            leaves = await Ahead.of(rows)
            async for claim in self._all_claims(claims):
                await self._grow(leaves, claim.size)
                await self._compare(claim)
            await self._grow(leaves, None)
        if not self._broken and self._frontier.size != self._log.size:
            self._add(f"{self._log.size} leaves, according to foja.log", f"{self._frontier.size} leaves")
        await self._check_places()

    async def _check_places(self) -> None:
        """Check foja.leaf_place: a leaf that it does not find cannot be proven."""
        async for entity_id, seq, recorded, actual in self._context.moment.rows(
            "fsck_leaf_places", origin=self._log.origin
        ):
            expected = "no bundle" if actual is None else f"the bundle at leaf {actual} in foja.leaf_place"
            found = "none" if recorded is None else f"the bundle at leaf {recorded}"
            self._context.findings.add("place", expected=expected, found=found, entity_id=entity_id, seq=seq)

    async def _all_claims(self, others: Iterable[Claim]) -> AsyncIterator[Claim]:
        """Yield the other claims and those of the database, by size."""
        waiting = sorted(others, key=lambda claim: claim.size)
        origin = self._log.origin
        async for row in self._context.moment.rows("fsck_checkpoints", CheckpointRow, origin=origin):
            claim = self._read_checkpoint(row)
            while waiting and waiting[0].size <= claim.size:
                yield waiting.pop(0)
            yield claim
        for claim in waiting:
            yield claim

    def _read_checkpoint(self, row: CheckpointRow) -> Claim:
        size, root = row.size, row.root
        self._context.findings.counts["checkpoints"] += 1
        claim = Claim(f"the checkpoint of {size} leaves", size, root, row.frontier)
        try:
            signed = self._context.outside.open(row.note)
        except Tampered as error:
            self._add(f"{claim.who}, signed", str(error), "checkpoint")
            return claim
        if (signed.origin, signed.size, signed.root) != (self._log.name, size, root):
            found = f"a note of {signed.size} leaves of {signed.origin} with the root {signed.root.hex()}"
            self._add(f"{claim.who} of {self._log.name} with the root {root.hex()}", found, "checkpoint")
        return claim

    async def _grow(self, leaves: Ahead[LeafRow], size: int | None) -> None:
        """Add leaves until the tree has this size, or add all of them."""
        while leaves.next is not None and (size is None or self._frontier.size < size):
            most = STEP_LEAVES if size is None else min(STEP_LEAVES, size - self._frontier.size)
            batch = [await leaves.take()]
            while leaves.next is not None and len(batch) < most:
                batch.append(await leaves.take())
            self._check_numbers(batch)
            await self._extend([leaf.entry() for leaf in batch])

    def _check_numbers(self, batch: Sequence[LeafRow]) -> None:
        """Report the first missing leaf. After it no root can be computed, so there is only one finding."""
        for place, leaf in enumerate(batch, start=self._frontier.size):
            if leaf.idx != place and not self._broken:
                self._broken = True
                self._add(f"leaf {place} of log {self._log.origin}", f"leaf {leaf.idx} in its place")

    async def _extend(self, entries: Sequence[bytes]) -> None:
        published = self._published.size if self._published else 0
        if self._tiles and not self._broken and self._frontier.size < published:
            await self._tiles.grow(entries)
        self._frontier = self._frontier.extend(map(leaf_hash, entries))
        self._context.findings.counts["leaves"] += len(entries)
        self._context.meter.tick(len(entries))

    async def _compare(self, claim: Claim) -> None:
        if self._broken:
            return
        if self._frontier.size < claim.size:
            self._add(f"{claim.size} leaves, according to {claim.who}", f"{self._frontier.size} leaves")
        elif self._frontier.root() != claim.root:
            await self._report_root(claim)
        elif claim.frontier not in (None, self._frontier.encode()):
            self._add(f"the frontier of the tree in {claim.who}", "another frontier", "checkpoint")
        if self._tiles and claim is self._published and self._frontier.size == claim.size:
            await self._tiles.end()

    async def _report_root(self, claim: Claim) -> None:
        """Report another root, with the first event that differs in the published files."""
        if self._changed is None:
            self._changed = await self._search(self._searched, claim.size)
            self._searched = claim.size
        entity_id, seq = self._changed or (None, None)
        self._context.findings.add(
            "root",
            expected=f"the root {claim.root.hex()} at {claim.size} leaves, according to {claim.who}",
            found=f"the root {self._frontier.root().hex()}",
            entity_id=entity_id,
            seq=seq,
        )

    async def _search(self, low: int, high: int) -> Name | None:
        """Return the first event in a range of leaves that differs in the store."""
        published = self._published.size if self._published else 0
        for start in range(low - low % WIDTH, min(high, published), WIDTH):
            end = min(start + WIDTH, published)
            rows = self._context.moment.rows("leaves", origin=self._log.origin, low=start, high=end)
            entries = [leaf_entry(*row) async for row in rows]
            path = entries_path(start // WIDTH, end - start)
            if name := first_difference(entries, await read(self._context.outside.store, self._log, path)):
                return name
        return None

    def _add(self, expected: str, found: str, check: str = "log") -> None:
        self._context.findings.add(check, expected=expected, found=found)
