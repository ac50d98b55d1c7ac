"""A worker for every job type, opened when work is wanted."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack
from functools import partial

from foja.engine.driver.database import Database
from foja.engine.faults import Reports, unreported
from foja.engine.jobs.announcement import Announcement
from foja.engine.jobs.decider import decide_streams, drafting
from foja.engine.jobs.exclusive import RunLock
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.spec import Work, WorkerSpec
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.settings import Settings
from foja.errors import BadDomain, LedgerUnavailable, UnknownJob
from foja.pure.core.registry import Domain

CONNECTIONS = 4  # of each source
MAX_AWAY_SECONDS, PAUSE_SECONDS = 60, 0.2


class Workers:
    """Workers by job type. A process that only writes opens nothing for them."""

    def __init__(
        self,
        settings: Settings,
        notifier: Notifier,
        closing: AsyncExitStack,
        specs: Iterable[WorkerSpec],
        domains: Iterable[Domain],
        report: Reports = unreported,
    ) -> None:
        """`specs` are the workers of Foja's domains; `domains` are those of users."""
        self._report = report
        self._settings, self._notifier, self._closing = settings, notifier, closing
        self._specs = {spec.type: spec for spec in specs}
        self._types: dict[str, Domain] = {}
        self._queues: dict[str, Queue] = {}
        self._run_lock = RunLock()
        self.foja_types, self._warned = frozenset(self._specs), set[str]()
        for domain in domains:
            self._include(domain)

    def add(self, job_type: str, handler: Work, *, batch: int = 100) -> None:
        """Do the jobs of a type of your domain: `async (jobs) -> outcomes`, one outcome per job."""
        if job_type not in self._types:
            raise UnknownJob(
                f"no domain given to connect() has the job type {job_type!r}; add it to Domain(jobs=…)"
            )
        if job_type in self._specs:
            raise BadDomain(f"{job_type} has a worker already")
        if not callable(handler) or inspect.isasyncgenfunction(handler):
            raise BadDomain(f"{handler!r:.100} is not a handler; use async def send(jobs), with a return")
        self._specs[job_type] = WorkerSpec(self._types[job_type], job_type, lambda _: handler, batch)

    async def open(self, only: Collection[str] | None = None) -> list[tuple[Worker, WorkerSpec]]:
        """Return the workers of these types, or all: each acts as its own role, or raises."""
        only = [only] if isinstance(only, str) else only
        if unknown := sorted(set(only or ()) - self._specs.keys()):
            raise UnknownJob(
                f"no worker here does {unknown[0]!r}; choose from {', '.join(sorted(self._specs))}, "
                "or name its domain in FOJA_DOMAINS and add its handler"
            )
        found = [
            (self._worker(spec), spec)
            for spec in self._specs.values()
            if only is None or spec.type in only
            for _ in range(spec.count)
        ]
        for worker, _ in found:
            await open_or_wait(worker)
        return found

    def announcement(self, database: Database, types: Collection[str]) -> Announcement:
        """Return what announces these types while this process works."""
        tenant = self._settings.tenant or None
        return Announcement(database, types, tenant, self.foja_types, self._warned)

    def queue(self, source: str) -> Queue:
        """Return the queue of a source, as its role."""
        if source not in self._queues:
            url, role = self._settings.database_url, f"foja_{source.replace('-', '_')}"
            database = Database(url, role, CONNECTIONS, self._settings.answer_seconds)
            self._closing.push_async_callback(database.close)
            queue = Queue(database, self._notifier, source=source, tenant=self._settings.tenant or None)
            self._closing.push_async_callback(queue.close)
            self._queues[source] = queue
        return self._queues[source]

    def _include(self, domain: Domain) -> None:
        """Let the job types of a user's domain be added, and run its `decide`."""
        self._types |= {job.name: domain for job in domain.jobs if job.name != domain.executor}
        if domain.decide and domain.executor and (executor := domain.job(domain.executor)):
            self._specs[executor.name] = WorkerSpec(
                domain,
                executor.name,
                lambda queue: partial(decide_streams, queue.database, domain),
                wake_on=[domain.name],
            )

    def _worker(self, spec: WorkerSpec) -> Worker:
        queue = self.queue(spec.source)
        return Worker(
            queue,
            spec.type,
            drafting(spec.domain, spec.source, spec.work(queue)),
            most=spec.batch,
            wake_on=spec.wake_on,
            run_lock=self._run_lock,
            before_claim=spec.before_claim(queue) if spec.before_claim else None,
            rests=spec.rests,
            report=partial(self._report, f"job:{spec.type}"),
        )


async def open_or_wait(opened: Worker | Database) -> None:
    """Connect a worker or a pool. The database answered at the start; if it is gone now, it is waited for."""
    deadline = time.monotonic() + MAX_AWAY_SECONDS
    while True:
        try:
            return await opened.open()
        except LedgerUnavailable:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
