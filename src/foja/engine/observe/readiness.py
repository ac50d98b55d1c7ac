"""Whether this process can serve, and how every other part does: needed parts are asked, the others are told.

A process needs a database that takes writes, the schema of its version, a log that is not halted, and a store
that answers. What else fails is named as degraded: a process that another one replaced would not do better.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from foja.engine import sql
from foja.engine.blobs.store import AWAY, READ, Store
from foja.engine.driver.database import Database
from foja.engine.health.recorder import DATABASE
from foja.engine.health.service import ANSWER_SECONDS, LOG, Health
from foja.engine.sql.steps import read_steps
from foja.engine.tasks import within
from foja.errors import FojaError, Unavailable
from foja.pure.models.health.part import Part, State

CACHE_SECONDS = 1.0
SCHEMA: Final = "schema"
NEEDED: Final = (DATABASE, SCHEMA, LOG, READ)


class NotReady(Unavailable):
    """A part answers, and cannot be used."""


@dataclass(frozen=True, slots=True)
class Ready:
    """How every part does, and why each needed one cannot be used."""

    parts: list[Part]
    missing: dict[str, str]

    @property
    def status(self) -> Literal["ok", "degraded", "failed"]:
        """Whether this process can serve, and whether all else works."""
        return "failed" if self.missing else "ok" if all(part.ok for part in self.parts) else "degraded"

    def document(self, *, words: bool) -> dict[str, Any]:
        """Return it as JSON carries it; words of errors are for operators only."""
        parts = {part.name: part.document(words=words) for part in self.parts}
        for name, detail in self.missing.items():
            known = parts.get(name, {"since": None})
            parts[name] = {**known, "ok": False, "state": str(State.FAILING), "detail": detail}
        return {"status": self.status, "parts": parts}


class Readiness:
    """Asks every needed part, each within its time, all at once; the answer is kept for a second."""

    def __init__(self, reader: Database, store: Store, health: Health) -> None:
        self._reader, self._store, self._health = reader, store, health
        self._ready = Ready([], {})
        self._asked, self._lock = float("-inf"), asyncio.Lock()

    async def check(self) -> Ready:
        """Return the state of each part."""
        async with self._lock:
            if time.monotonic() - self._asked > CACHE_SECONDS:
                asked = {
                    DATABASE: self._check_database,
                    SCHEMA: self.check_schema,
                    LOG: self._check_log,
                    READ: self.check_store,
                }
                answers = await asyncio.gather(*(self._trouble(*each) for each in asked.items()))
                missing = {name: trouble for name, trouble in zip(asked, answers, strict=True) if trouble}
                known = self._health.known if DATABASE in missing else await self._health.read()
                self._ready = Ready(known, missing)
                self._asked = time.monotonic()
            return self._ready

    async def check_database(self) -> None:
        """Raise unless the database answers soon."""
        await self._health.check_database()

    async def check_schema(self) -> None:
        """Raise unless the schema is that of this version."""
        try:
            rows = await self._reader.rows(sql.query("applied_migrations"))
            if [(number, digest) for number, _, digest, _ in rows] != _known_steps():
                raise NotReady("the schema is not that of this version of Foja; run `foja migrate --status`")
        except FojaError as error:
            self._health.report(SCHEMA, error)
            raise
        self._health.report(SCHEMA)

    async def check_store(self) -> None:
        """Raise unless the store answers, and is that of this installation."""
        try:
            await self._store.check()
        except Unavailable as error:
            if error.code != AWAY:
                raise
            raise NotReady(
                "what is at the store's place is not that of this installation: is its disk mounted? "
                "If it was never reached before, start again"
            ) from None

    async def _check_database(self) -> None:
        await self._reader.row(sql.query("clock"))
        await self._health.write()
        if self._health.database.state is State.FAILING:
            raise NotReady("it answers, but takes no writes now; `foja doctor` says why")

    async def _check_log(self) -> None:
        if await self._reader.rows(sql.query("halted_logs")):
            raise NotReady("the log is halted; `foja log` shows why")

    async def _trouble(self, name: str, ask: Callable[[], Awaitable[None]]) -> str | None:
        """Return why a part cannot be used, in words that everyone may read, or None."""
        try:
            await _soon(ask())
        except FojaError as error:
            if name == DATABASE and self._health.database.ok:
                self._health.lost(error)
            if isinstance(error, NotReady):
                return str(error)
            return "it does not answer; `foja doctor` says why"  # its message may name servers
        return None


@cache
def _known_steps() -> list[tuple[int, str]]:
    return [(step.number, step.digest) for step in read_steps()]


async def _soon(work: Awaitable[object]) -> None:
    try:
        await within(ANSWER_SECONDS, work)
    except TimeoutError:
        raise NotReady(f"no answer within {ANSWER_SECONDS:g} seconds") from None
