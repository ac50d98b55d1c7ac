"""Notices within a second that a key or a session ended, in any process.

A notification says that something changed; a number in the database, read every second, says so too if the
notification was lost. What is remembered counts only while that number can be read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from foja.domains.access.grants import Grants
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.faults import SETTLE_SECONDS, Watch
from foja.engine.ledger.live.notifier import Notifier, keep_trying
from foja.engine.tasks import end
from foja.pure.models.access.grant import Grant

LOOK_SECONDS: Final = 0.5
FRESH_SECONDS: Final = 1.0  # after which nothing remembered counts, unless the number was read again
Check = Callable[[Grant], Awaitable[Grant | None]]


@dataclass(eq=False, slots=True)
class OpenUse:
    """Something that lasts, such as a stream. `ended` is set when its grant is no longer valid."""

    grant: Grant
    due: float  # when the grant is to be checked again
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Monitor:
    """Keeps `grants` true, and ends what lasts longer than its grant."""

    def __init__(self, database: Database, notifier: Notifier, installation_id: UUID, check: Check) -> None:
        self.grants = Grants(time.monotonic)
        self.version = -1
        self._database, self._notifier, self._check = database, notifier, check
        self._topic = "", installation_id  # `foja.announce_access` notifies it
        self._has_keys = False
        self._fresh_until = 0.0
        self._uses: set[OpenUse] = set()
        self._task: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._watch = Watch("the check of keys", SETTLE_SECONDS)

    async def open(self) -> None:
        """Look once, so that a missing role is found at the start, and go on in the background."""
        if self._task is None:
            await self.look()
            self._task = asyncio.create_task(keep_trying(self._run, self._watch))

    async def close(self) -> None:
        """End the background task."""
        if self._task:
            await end([self._task])
        self._watch.close()

    @property
    def fresh(self) -> bool:
        """Whether what is remembered counts now."""
        return time.monotonic() < self._fresh_until

    async def has_keys(self) -> bool:
        """Return whether a key was ever made."""
        if not (self._has_keys or self.fresh):
            await self._read()
        return self._has_keys

    @contextmanager
    def use(self, grant: Grant) -> Iterator[asyncio.Event]:
        """Yield an event that is set when this grant is no longer valid."""
        changed = grant.version != self.version
        use = OpenUse(grant, 0.0 if changed else _due(grant))
        self._uses.add(use)
        try:
            yield use.ended
        finally:
            self._uses.discard(use)

    async def _run(self) -> None:
        with self._notifier.watch(self._topic) as wake:
            while True:
                wake.clear()
                await self.look()
                self._watch.worked()
                await wake.wait(LOOK_SECONDS)

    async def look(self) -> None:
        """Notice every change up to now, and note what was used."""
        async with self._looking:
            changed = await self._read()
            await self._check_uses(everything=changed)
            keys, sessions = self.grants.take_used()
            if keys or sessions:
                await self._database.rows(sql.query("note_use"), keys=keys, sessions=sessions)

    async def _read(self) -> bool:
        """Read the number of changes; return whether there was one. Nothing remembered outlives it."""
        asked = time.monotonic()
        row = await self._database.row(sql.query("access_version"))
        version, self._has_keys = row or (-1, True)
        changed: bool = version != self.version
        if changed:
            self.grants.clear()
            self.version = version
        self._fresh_until = asked + FRESH_SECONDS
        return changed

    async def _check_uses(self, *, everything: bool) -> None:
        now, found = time.monotonic(), dict[bytes, Grant | None]()
        for use in [each for each in self._uses if everything or now >= each.due]:
            digest = use.grant.digest
            if digest not in found:
                found[digest] = await self._check(use.grant)
            if (grant := found[digest]) is None:
                use.ended.set()
            else:
                use.due = _due(grant)


def _due(grant: Grant) -> float:
    moments = [grant.ends] if grant.ends is not None else []
    if grant.idle is not None:
        moments.append(time.monotonic() + grant.idle)
    return min(moments, default=float("inf"))
