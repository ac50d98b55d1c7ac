"""The lease of the maintenance: one process at a time does it."""

from __future__ import annotations

import asyncio
import contextlib
from uuid import uuid4

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.faults import SETTLE_SECONDS, Watch
from foja.errors import FojaError

LEASE_SECONDS = 2.0  # how long others wait for a process that died
ASK_SECONDS = 0.5
REST_SECONDS = 1.5  # after it was handed over: longer than others take to ask


class MaintenanceLease:
    """The lease as one process holds it, or waits for it.

    It saves work and protects nothing: two processes that both believe to hold it take turns.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._process = database, uuid4()
        self._watch = Watch("maintenance, lease", SETTLE_SECONDS)
        self._held, self._handed_over = asyncio.Event(), asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether this process holds the lease."""
        return self._held.is_set()

    async def wait(self) -> None:
        """Return when this process holds the lease."""
        await self._held.wait()

    def hand_over(self) -> None:
        """Give the lease back if it is held; this process asks for it again after others could."""
        if self.held:
            self._held.clear()
            self._handed_over.set()

    async def keep(self) -> None:
        """Ask for the lease for ever, and extend it; when cancelled, give it back."""
        try:
            while True:
                await self._ask()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ASK_SECONDS):
                        await self._handed_over.wait()
                if self._handed_over.is_set():
                    await self._give_back()
                    await asyncio.sleep(REST_SECONDS)
                    self._handed_over.clear()
        finally:
            await self._give_back()

    async def _ask(self) -> None:
        try:
            held = await self._lease(LEASE_SECONDS)
            self._watch.worked()
        except FojaError as error:  # it may be ours still, and without the database there is nothing to do
            self._watch.failed(error)
            return
        if not held:
            self._held.clear()
        elif not self._handed_over.is_set():
            self._held.set()

    async def _give_back(self) -> None:
        with contextlib.suppress(FojaError, TimeoutError):  # then it runs out
            async with asyncio.timeout(ASK_SECONDS):
                await self._lease(0)

    async def _lease(self, seconds: float) -> bool:
        query = sql.query("lease_maintenance")
        return bool(await self._database.value(query, worker=self._process, seconds=seconds))
