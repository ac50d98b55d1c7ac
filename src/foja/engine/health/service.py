"""The one place that says how every part does: overview, `/readyz`, doctor, alerts and metrics read it.

Processes write what they saw into one table. A part that nothing used for a while is probed by one of them,
harmlessly; so is one that fails, so that its end is noticed without a user. The database's own state is in
memory: while it does not answer, the others are as they were read last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol, TypeAlias

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.health.recorder import DATABASE, WRITE_SECONDS, Recorder, Seen
from foja.engine.tasks import end, within
from foja.errors import FojaError, LedgerUnavailable, Unavailable
from foja.pure.models.health.part import Part, Queued, Record, part_of

TICK_SECONDS = 1.0
PROBE_SECONDS = 30.0  # a probe may take
ANSWER_SECONDS = 3.0  # of the database, for every door that says how it does
UNPROBED_SECONDS = 600.0
ALLOWED = 3  # intervals of probes without a try, until nothing is known
LOG, WEBHOOKS = "log", "webhooks"
Ask: TypeAlias = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Probe:
    """A harmless use of a part: what is ours often, what belongs to others seldom.

    Without `ask` the part cannot be probed: it is used by the processes that have it. `reports` says that
    the part's own call sites report the use; else the probe does.
    """

    ask: Ask | None = None
    foreign: bool = False
    reports: bool = False


class Frozen(LedgerUnavailable):
    """The embedded database was stopped, and not ended."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"PostgreSQL (process {pid}) is frozen")
        self.code = f"frozen:{pid}"


class Facts(NamedTuple):
    """What the database says at one moment about no part in particular."""

    now: datetime
    halted: str | None  # why the log is
    receivers: bool  # is a webhook on?
    failing_since: datetime | None  # of all webhooks, if several addresses fail and none works


class QueueRow(NamedTuple):
    """A job type, and when a worker said last that it does it."""

    type: str
    paused: bool
    paused_at: datetime | None
    seen_at: datetime | None


class Unhandled(Protocol):
    """A job type with jobs that no living worker does."""

    @property
    def type(self) -> str: ...
    @property
    def ready_at(self) -> datetime: ...
    @property
    def seen(self) -> str: ...


class Health:
    """The health of an installation, as one process writes and reads it."""

    def __init__(
        self,
        writer: Database,
        reader: Database,
        unhandled: Callable[[], Awaitable[Sequence[Unhandled]]],
        *,
        seconds: float,
        remote_seconds: float,
        frozen: Callable[[], int | None] = lambda: None,
    ) -> None:
        """`writer` may call the function that records, and nothing more is needed; `reader` sees all rows.

        `unhandled` returns the job types that wait for a worker; `frozen` the process of an embedded database
        that somebody stopped.
        """
        self._frozen, self._silent = frozen, False
        self._writer, self._reader, self._unhandled = writer, reader, unhandled
        self._seconds, self._remote_seconds = seconds, remote_seconds
        self._recorder = Recorder(min(seconds, 30.0) / ALLOWED)
        self._probes: dict[str, Probe] = {}
        self._jobs = set[str]()
        self._parts: list[Part] = []
        self._wrote, self._lock = float("-inf"), asyncio.Lock()

    def report(self, part: str, error: Exception | None = None) -> None:
        """Note a real success, or a real failure."""
        self._recorder.report(part, error)

    def add(self, probes: Mapping[str, Probe]) -> None:
        """Name parts that this installation has, with how each is probed."""
        self._probes |= probes

    def add_jobs(self, types: Iterable[str]) -> None:
        """Name the job types of this installation; of another one something has to be known to be shown."""
        self._jobs |= {f"job:{each}" for each in types}

    async def run(self) -> None:
        """Write what was seen and probe what was not tried, for ever. No error ends it."""
        probing = set[asyncio.Task[None]]()
        try:
            while True:
                await self.write()
                if not self._recorder.database.failing_since:
                    for name in await self._due():
                        task = asyncio.create_task(self.probe(name))
                        probing.add(task)
                        task.add_done_callback(probing.discard)
                await asyncio.sleep(min(TICK_SECONDS, self._seconds))
        finally:
            await end(probing)  # what a probe started, such as a decoder, ends with it

    async def read(self) -> list[Part]:
        """Return how every part does now. While the database does not answer, as it was read last."""
        await self.write()
        if not self._silent:
            try:
                self._parts = await within(ANSWER_SECONDS, self._read())
            except (FojaError, TimeoutError) as error:
                self.lost(error)
        return self.known

    async def check_database(self) -> None:
        """Raise `LedgerUnavailable` unless the database answers within a few seconds. It is failing then."""
        try:
            await within(ANSWER_SECONDS, self._reader.row(sql.query("clock")))
        except (FojaError, TimeoutError) as error:
            self.lost(error)
            raise outage(error) from None

    def lost(self, error: FojaError | TimeoutError) -> None:
        """Note that the database did not answer, or not in time."""
        pid = self._frozen()
        self._silent = pid is not None or isinstance(error, TimeoutError)
        self.report(DATABASE, Frozen(pid) if pid else outage(error))

    @property
    def known(self) -> list[Part]:
        """How every part did when they were read last; only the database is as it is now."""
        return [self.database, *self._parts]

    async def close(self) -> None:
        """Write what is not written yet; if the database is gone, it is forgotten."""
        if self._recorder.everything():
            await self.write(everything=True)

    @property
    def database(self) -> Part:
        """How the database does, as this process sees it."""
        return part_of(self._recorder.database, datetime.now(UTC), self._allowed(Probe()))

    async def write(self, *, everything: bool = False) -> None:
        """Write what is due. It is a real write: if it succeeds the database works, else it fails."""
        async with self._lock:
            seen = self._recorder.everything() if everything else self._recorder.due()
            recent = time.monotonic() - self._wrote < WRITE_SECONDS
            if recent and not everything and not (seen and self.database.ok):
                return
            try:
                await within(ANSWER_SECONDS, self._record(seen))
                self.report(DATABASE)
                self._silent = False
            except (FojaError, TimeoutError) as error:
                self.lost(error)
            self._wrote = time.monotonic()

    async def writes(self) -> bool:
        """Return whether the database takes writes now."""
        await self.write()
        return self.database.ok

    async def probe(self, name: str) -> None:
        """Use a part now; what comes of it is reported."""
        probe = self._probes[name]
        assert probe.ask is not None
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await probe.ask()
            if not probe.reports:
                self.report(name)
        except TimeoutError:
            self.report(name, Unavailable(f"no answer within {PROBE_SECONDS:g} seconds"))
        except (FojaError, OSError) as error:
            self.report(name, error)

    async def _record(self, seen: Mapping[str, Seen]) -> None:
        now, rows = time.monotonic(), [(part, each) for part, each in sorted(seen.items())]

        def ages(name: str) -> list[float | None]:
            return [None if (at := getattr(each, name)) is None else now - at for _, each in rows]

        await self._writer.rows(
            sql.query("record_health"),
            parts=[part for part, _ in rows],
            worked=ages("worked"),
            failed=ages("failed"),
            since=ages("since"),
            codes=[each.code for _, each in rows],
            errors=[each.error for _, each in rows],
        )
        for _, each in rows:
            each.clear(now)

    async def _due(self) -> list[str]:
        """Return the parts that this process should probe now; another process does not meanwhile."""
        every = {
            name: self._remote_seconds if probe.foreign else self._seconds
            for name, probe in self._probes.items()
            if probe.ask
        }
        wanted = {name: seconds for name, seconds in every.items() if seconds}
        try:
            claimed = self._writer.rows(
                sql.query("claim_probes"),
                parts=list(wanted),
                seconds=list(wanted.values()),
                again=self._seconds,
            )
            rows = await within(ANSWER_SECONDS, claimed)
        except (FojaError, TimeoutError) as error:
            self.lost(error)
            return []
        return [name for (name,) in rows]

    async def _read(self) -> list[Part]:
        found = await self._reader.rows(sql.query("health_records"), Record)
        records = {record.part: record for record in found}
        facts = await self._reader.one(sql.query("health_facts"), Facts)
        now, halted = facts.now, facts.halted
        queues = await self._queues()
        queued = {
            name: each for name, each in queues.items() if name in self._jobs or name in records or each.known
        }
        names = [*self._probes, *self._others(records.values(), now), *queued]
        if halted:
            self.report(LOG, Unavailable(f"the log is halted: {halted}"))
            before = records.get(LOG, Record(LOG))
            since, words = before.failing_since or now, f"the log is halted: {halted}"
            records[LOG] = Record(LOG, before.worked_at, now, since, "log_halted", words)
        if facts.receivers:
            names.append(WEBHOOKS)
            before = records.get(WEBHOOKS, Record(WEBHOOKS))
            records[WEBHOOKS] = Record(
                WEBHOOKS, before.worked_at, before.failed_at, facts.failing_since, before.code, before.error
            )
        return [self._part(records.get(name, Record(name)), now, queued.get(name)) for name in names]

    def _others(self, records: Iterable[Record], now: datetime) -> Iterator[str]:
        """Yield the parts that only other processes have. One that was removed is not tried any more."""
        kinds = {name.partition(":")[0] for name in self._probes}
        for record in records:
            if record.part.partition(":")[0] in {*kinds, "job", DATABASE, WEBHOOKS}:
                continue
            tried = record.tried_at and now - record.tried_at < self._allowed(Probe(foreign=True))
            if tried or not self._probes:  # a process that has no part itself shows all
                yield record.part

    async def _queues(self) -> dict[str, Queued]:
        waiting = {each.type: each for each in await self._unhandled()}
        queues: dict[str, Queued] = {}
        for row in await self._reader.rows(sql.query("health_queues"), QueueRow):
            each = waiting.get(row.type)
            about = (each.seen, each.ready_at) if each else (None, None)
            queues[f"job:{row.type}"] = Queued(row.paused, row.paused_at, row.seen_at, *about)
        return queues

    def _part(self, record: Record, now: datetime, queued: Queued | None) -> Part:
        foreign = record.part == WEBHOOKS
        return part_of(
            record, now, self._allowed(self._probes.get(record.part, Probe(foreign=foreign))), queued
        )

    def _allowed(self, probe: Probe) -> timedelta:
        every = (self._remote_seconds or UNPROBED_SECONDS) if probe.foreign else self._seconds
        return timedelta(seconds=ALLOWED * every)


def outage(error: FojaError | TimeoutError) -> FojaError:
    """Return an error of the database's answer, or of none within its time, as one of the database."""
    if isinstance(error, TimeoutError):
        return LedgerUnavailable(f"the database does not answer within {ANSWER_SECONDS:g} seconds; try again")
    return error
