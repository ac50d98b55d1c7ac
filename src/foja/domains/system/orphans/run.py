"""What a scan and a purge have in common: a run id, a clock that is watched, a recorded end."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import uuid4

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.errors import LedgerUnavailable, Unavailable
from foja.pure.models.system.orphans import OrphanTerms, find_jump
from foja.pure.models.system.view import Action, RunResult

PAGE_OBJECTS = 1000
Progress = Callable[[int, int], None]
LEFT_OUT = {"run", "dry", "unstaged", "missing_objects"}  # of what is recorded
log = logging.getLogger("foja.orphans")


class Aborted(Exception):
    """Something does not look right: the run ends here and says so."""


class Run:
    """One run. It watches the database's clock, and records its end unless it is dry."""

    def __init__(
        self,
        database: Database,
        action: Action,
        terms: OrphanTerms,
        *,
        dry: bool = False,
        actor: str | None = None,
    ) -> None:
        self._database, self._action, self._dry, self._actor = database, action, dry, actor
        self._grace = terms.grace.total_seconds()

    @asynccontextmanager
    async def recorded(self) -> AsyncIterator[RunResult]:
        """Yield the result to fill in, and record it. A store that fails aborts the run, and is named."""
        began, started = time.monotonic(), await self._now()
        result = RunResult(uuid4(), self._action, started, self._dry)
        try:
            yield result
            elapsed = timedelta(seconds=time.monotonic() - began)
            if jump := find_jump(elapsed, await self._now() - started):
                raise Aborted(jump)
        except LedgerUnavailable:
            raise
        except (Aborted, Unavailable) as error:
            result.outcome, result.detail = "aborted", str(error)
            log.warning("the %s of orphans was aborted: %s", self._action, error)
        if not self._dry:
            values = {"run": result.run, "actor": self._actor, "result": _as_recorded(result)}
            await self.rows("record_orphan_run", **values, grace=self._grace)

    async def rows(self, name: str, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]:
        """Return the rows of a named query."""
        return await self._database.rows(sql.query(name), of, **values)

    async def _now(self) -> datetime:
        [(now,)] = await self.rows("clock")
        found: datetime = now
        return found


def _as_recorded(result: RunResult) -> str:
    """Return what is recorded of a run."""
    fields = {name: value for name, value in asdict(result).items() if name not in LEFT_OUT}
    return json.dumps(fields, default=str)
