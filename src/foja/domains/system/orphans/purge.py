"""Purge orphans: quarantine what was a candidate for long enough, delete its bytes, record it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from foja.domains.system.orphans.run import Aborted, Progress, Run
from foja.engine import sql
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.pure.models.system.orphans import Inventory, OrphanTerms, find_brake
from foja.pure.models.system.view import RunResult

STEP_OBJECTS = 100
ORPHAN = "nothing refers to it"


@dataclass(frozen=True, slots=True)
class Purger:
    """Purges the orphans of one installation, a few at a time."""

    database: Database  # as `hygiene`
    store: Store
    terms: OrphanTerms

    async def inventory(self) -> Inventory:
        """Return what is known before a purge."""
        values = {"grace": self.terms.grace.total_seconds(), "days": self.terms.days}
        return await self.database.one(sql.query("orphan_inventory"), Inventory, **values)

    async def purge(
        self,
        *,
        dry: bool = False,
        actor: str | None = None,
        reason: str = ORPHAN,
        progress: Progress | None = None,
    ) -> RunResult:
        """Purge what is due, up to the limit of a run; return what was done, or why nothing was."""
        run = Run(self.database, "purge", self.terms, dry=dry, actor=actor)
        async with run.recorded() as result:
            inventory = await self.inventory()
            if brake := find_brake(inventory, self.terms):
                raise Aborted(brake)
            if dry:
                result.quarantined = min(inventory.due, self.terms.max_objects)
            else:
                await self._quarantine(run, result)
                await self._delete(run, result, actor, reason, progress, inventory.quarantined)
        return result

    async def purge_object(self, sha256: str, *, reason: str, actor: str | None = None) -> Sequence[str]:
        """Delete one object now, past the grace period; return its keys. Refused while anything refers to it.

        After a crash in between, repeat it: what is claimed stays claimed.
        """
        rows = await self.database.rows(sql.query("claim_object"), sha256=sha256)
        paths = [path for path, _ in rows]
        await self.store.delete(paths)
        await self._record(uuid4(), actor, reason, paths)
        return paths

    async def restore(self, sha256: str, *, reason: str, actor: str | None = None) -> str:
        """Let a candidate or an object in quarantine be live again; return its key."""
        values = {"sha256": sha256, "reason": reason, "actor": actor}
        path = await self.database.value(sql.query("restore_object"), **values)
        return str(path)

    async def _quarantine(self, run: Run, result: RunResult) -> None:
        while result.quarantined < self.terms.max_objects:
            [(quarantined, unstaged)] = await run.rows(
                "quarantine_orphans",
                grace=self.terms.grace.total_seconds(),
                days=self.terms.days,
                limit=min(STEP_OBJECTS, self.terms.max_objects - result.quarantined),
            )
            result.quarantined += quarantined
            result.unstaged += unstaged
            if not quarantined + unstaged:
                return

    async def _delete(
        self,
        run: Run,
        result: RunResult,
        actor: str | None,
        reason: str,
        progress: Progress | None,
        total: int,
    ) -> None:
        while result.deleted < self.terms.max_objects:
            claimed = await run.rows(
                "claim_orphans",
                quarantine=self.terms.quarantine.total_seconds(),
                limit=min(STEP_OBJECTS, self.terms.max_objects - result.deleted),
            )
            if not claimed:
                return
            await self.store.present([path for path, _ in claimed])  # a store that fails here deletes nothing
            await self.store.delete([path for path, _ in claimed])
            await self._record(result.run, actor, reason, [path for path, _ in claimed])
            result.deleted += len(claimed)
            result.bytes += sum(size for _, size in claimed)
            if progress:
                progress(result.deleted, max(total, result.deleted))

    async def _record(self, run: UUID, actor: str | None, reason: str, paths: Sequence[str]) -> None:
        values = {"run": run, "actor": actor, "reason": reason, "paths": list(paths)}
        await self.database.rows(sql.query("record_purge"), **values)
