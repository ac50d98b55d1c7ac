"""Which job types have a living worker, and which wait for one: processes announce what they do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import LiteralString, NamedTuple, Protocol
from uuid import UUID, uuid4

from foja.engine import sql
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.faults import Watch
from foja.engine.sql.network import process_name
from foja.engine.tasks import end
from foja.errors import FojaError

BEAT_SECONDS = 10.0
LIVING_SECONDS = 3 * BEAT_SECONDS  # so long an announcement is believed
FIRST_LOOK_SECONDS = 2.0  # processes that start together need this long to announce themselves
END_SECONDS = 0.5
MAX_COUNTED = 10_000  # jobs of a type and a priority
log = logging.getLogger("foja.jobs")


class Rows(Protocol):
    """What runs one statement and returns its rows."""

    async def rows(self, query: LiteralString, of: type[Row] = UNNAMED, /, **values: object) -> list[Row]: ...


class UnhandledType(NamedTuple):
    """A job type that no living worker does, although jobs of it are ready."""

    type: str
    jobs: int  # counted up to a limit
    ready_at: datetime  # since then the oldest one could be done

    @property
    def seen(self) -> str:
        """What is wrong, in words."""
        jobs = "1 job of the type" if self.jobs == 1 else f"{self.jobs:,} jobs of the type"
        since = f"{self.ready_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"{jobs} {self.type} could be done since {since}, and no running worker does this type"


async def find_unhandled(database: Rows, tenant: str | None = None) -> list[UnhandledType]:
    """Return the types with ready jobs that no living worker does: of one tenant, or of all."""
    await database.rows(sql.query("queue_woken"))
    limits = {"most": MAX_COUNTED, "living": LIVING_SECONDS}
    return await database.rows(sql.query("unhandled_types"), UnhandledType, tenant=tenant, **limits)


@dataclass(slots=True)
class Announcement:
    """What one process announces while it works, and what it warns of: once for each type."""

    database: Rows
    types: Collection[str]
    tenant: str | None  # whose jobs alone it does
    foja_types: Collection[str]  # of Foja's domains; users have to add handlers for the others
    warned: set[str]
    _id: UUID = field(default_factory=uuid4)
    _watch: Watch = field(default_factory=lambda: Watch("announcement of the workers", rare=True))

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Announce these types until the block ends. Nothing fails if that cannot be done."""
        await self._try_announce(self.types)
        beating = asyncio.create_task(self._beat_on())
        try:
            yield
        finally:
            await end([beating])
            with contextlib.suppress(TimeoutError):  # then it runs out
                async with asyncio.timeout(END_SECONDS):
                    await self._try_announce([])

    async def warn(self) -> None:
        """Log each type that waits for a worker, once."""
        for unhandled in await find_unhandled(self.database, self.tenant):
            if unhandled.type not in self.warned:
                self.warned.add(unhandled.type)
                log.warning("%s; %s", unhandled.seen, self._advice(unhandled.type))

    def _advice(self, job_type: str) -> str:
        if job_type in self.foja_types:
            return "start `foja worker`, or call app.work() without `only`"
        return f"add its handler with app.workers.add({job_type!r}, handler) in a program that has its domain"

    async def _beat_on(self) -> None:
        await asyncio.sleep(FIRST_LOOK_SECONDS)
        while True:
            with contextlib.suppress(FojaError):  # the announcement notices it as well
                await self.warn()
            await asyncio.sleep(BEAT_SECONDS)
            await self._try_announce(self.types)

    async def _try_announce(self, types: Collection[str]) -> None:
        said = {"worker": self._id, "name": process_name(), "types": [*types], "tenant": self.tenant}
        try:
            await self.database.rows(sql.query("announce_worker"), **said)
            self._watch.worked()
        except FojaError as error:
            self._watch.failed(error)
