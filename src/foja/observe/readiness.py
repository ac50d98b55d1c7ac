"""Whether this process can serve: the database answers and is migrated, the log runs, the store answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from foja import sql
from foja.blobs.store import Store
from foja.driver.database import Database
from foja.errors import FojaError, ObjectMissing, Unavailable
from foja.sql.steps import read_steps

CACHE_SECONDS = 1.0
KNOWN_KEY = "installation"  # the first start writes it; a disk that is not mounted lacks it
PART_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PartState:
    """Whether one part works, and if not, why."""

    ok: bool
    detail: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the part as a JSON object."""
        return {"ok": self.ok} if self.detail is None else {"ok": self.ok, "detail": self.detail}


class NotReady(Unavailable):
    """A part answers, and cannot be used."""


class Readiness:
    """Asks every part, each within its time, all at once; the answer is kept for a second."""

    def __init__(self, reader: Database, store: Store) -> None:
        self._reader, self._store = reader, store
        self._parts: dict[str, PartState] = {}
        self._asked, self._lock = float("-inf"), asyncio.Lock()

    async def check(self) -> dict[str, PartState]:
        """Return the state of each part."""
        async with self._lock:
            if time.monotonic() - self._asked > CACHE_SECONDS:
                asked = {
                    "database": self._database,
                    "schema": self._schema,
                    "log": self._log,
                    "store": self._answers,
                }
                states = await asyncio.gather(*map(_state, asked.values()))
                self._parts, self._asked = dict(zip(asked, states, strict=True)), time.monotonic()
            return self._parts

    async def _database(self) -> None:
        await self._reader.row(sql.query("clock"))

    async def _schema(self) -> None:
        rows = await self._reader.rows(sql.query("applied_migrations"))
        if [(number, digest) for number, _, digest, _ in rows] != _known_steps():
            raise NotReady("the schema is not that of this version of Foja; run `foja migrate --status`")

    async def _log(self) -> None:
        if await self._reader.rows(sql.query("halted_logs")):
            raise NotReady("the log is halted; `foja log` shows why")

    async def _answers(self) -> None:
        try:
            await self._store.read(KNOWN_KEY)
        except ObjectMissing:
            raise NotReady(
                "the store answers, but is not that of this installation: is its disk mounted? "
                "If it was never reached before, start again"
            ) from None


@cache
def _known_steps() -> list[tuple[int, str]]:
    return [(step.number, step.digest) for step in read_steps()]


async def _state(ask: Callable[[], Awaitable[None]]) -> PartState:
    try:
        async with asyncio.timeout(PART_SECONDS):
            await ask()
    except TimeoutError:
        return PartState(False, f"no answer within {PART_SECONDS:g} seconds")
    except NotReady as error:
        return PartState(False, str(error))
    except FojaError:  # its message may name servers, and everyone may ask
        return PartState(False, "it does not answer; `foja doctor` says why")
    return PartState(True)
