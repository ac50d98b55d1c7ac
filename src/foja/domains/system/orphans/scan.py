"""Find orphans: by rows first, then in the listing of the store for what no row explains.

Both directions: an object that nothing refers to becomes a candidate, and one that something refers to and
the store does not have is an alarm.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from foja.domains.system.orphans.run import PAGE_OBJECTS, Aborted, Progress, Run, log
from foja.engine.blobs.entries import Listed
from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.pure.models.system.orphans import OrphanTerms
from foja.pure.models.system.view import RunResult

MAX_NAMED = 100  # missing objects
MIN_PARTIAL_AGE = timedelta(hours=1)  # an upload that takes longer is repeated
_OBJECT = re.compile(r"objects/[0-9a-f]{64}/(0|[1-9]\d{0,8})")


class StagedPage(NamedTuple):
    """A page of objects that were looked at: where the next one begins, and what was found."""

    after: str | None
    generation: int
    checked: int
    staged: int
    referred: Sequence[str]


@dataclass(frozen=True, slots=True)
class Scanner:
    """Scans one installation, a page at a time."""

    database: Database  # as `hygiene`
    store: Store
    terms: OrphanTerms

    async def scan(
        self, *, dry: bool = False, actor: str | None = None, progress: Progress | None = None
    ) -> RunResult:
        """Stage what nothing refers to; return what was found. The run is recorded, unless it is dry."""
        run = Run(self.database, "scan", self.terms, dry=dry, actor=actor)
        async with run.recorded() as result:
            await self._scan_rows(run, result, progress)
            await self._scan_store(run, result)
            if not dry:
                result.unstaged = await self._unstage(run)
                await self.store.forget_partial(result.started_at - max(self.terms.fresh, MIN_PARTIAL_AGE))
        if result.missing:
            names = ", ".join(result.missing_objects[:3])
            log.error("%s objects that something refers to are not in the store: %s", result.missing, names)
        return result

    async def _scan_rows(self, run: Run, result: RunResult, progress: Progress | None) -> None:
        [(total,)] = await run.rows("count_objects")
        after: str | None = ""
        generation = -1
        while after is not None:
            [page] = await run.rows(
                "stage_orphans",
                StagedPage,
                after=after,
                generation=generation,
                limit=PAGE_OBJECTS,
                fresh=self.terms.fresh.total_seconds(),
                dry=result.dry,
            )
            after, generation = page.after, page.generation
            result.checked += page.checked
            result.staged += page.staged
            await self._check_present(run, result, page.referred)
            if progress:
                progress(result.checked, max(total, result.checked))

    async def _check_present(self, run: Run, result: RunResult, paths: Collection[str]) -> None:
        """Note what the store does not have. An object that it has but did not list aborts the run."""
        absent = sorted(set(paths) - await self.store.present(paths)) if paths else []
        for path in absent:
            if await self.store.exists(path):
                raise Aborted(f"the store lists only a part of its objects: {path} is there and not listed")
        if absent:  # without those that were released meanwhile
            lost = [path for (path,) in await run.rows("still_referred", paths=absent)]
            result.missing += len(lost)
            result.missing_objects = (*result.missing_objects, *lost)[:MAX_NAMED]

    async def _scan_store(self, run: Run, result: RunResult) -> None:
        """Stage the keys that no row explains, except young ones: their row may be on its way."""
        async for page in self.store.objects():
            paths = self._old_objects(page, result.started_at)
            if paths:
                [(strays,)] = await run.rows("stage_strays", paths=paths, dry=result.dry)
                result.strays += strays

    def _old_objects(self, page: Sequence[Listed], now: datetime) -> list[str]:
        latest = now - self.terms.fresh
        return [each.key for each in page if each.modified_at <= latest and _OBJECT.fullmatch(each.key)]

    async def _unstage(self, run: Run) -> int:
        found, after = 0, ""
        while after is not None:
            [(after, unstaged)] = await run.rows("unstage_referred", after=after, limit=PAGE_OBJECTS)
            found += unstaged
        return found
