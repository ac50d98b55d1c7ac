"""A worker for every job type, opened when work is wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack

from foja.core.registry import Domain, JobType
from foja.driver.database import Database
from foja.errors import BadDomain, UnknownJob
from foja.jobs.assembly import WorkerSpec
from foja.jobs.decider import Decider, drafting
from foja.jobs.exclusive import RunLock
from foja.jobs.queue import Queue
from foja.jobs.worker import Work, Worker
from foja.ledger.live.notifier import Notifier
from foja.settings import Settings

CONNECTIONS = 4  # of each source


class Workers:
    """Workers by job type. A process that only writes opens nothing for them."""

    def __init__(self, settings: Settings, notifier: Notifier, closing: AsyncExitStack) -> None:
        self._settings, self._notifier, self._closing = settings, notifier, closing
        self._specs: dict[str, WorkerSpec] = {}
        self._types: dict[str, tuple[Domain, JobType]] = {}
        self._queues: dict[str, Queue] = {}
        self._run_lock = RunLock()

    def add(self, job_type: str, handler: Work, *, batch: int = 100) -> None:
        """Do the jobs of a type of your domain: `async (jobs) -> outcomes`, one outcome per job."""
        if job_type not in self._types:
            raise UnknownJob(
                f"no domain given to connect() has the job type {job_type!r}; add it to Domain(jobs=…)"
            )
        domain, known = self._types[job_type]
        if job_type in self._specs:
            raise BadDomain(f"{job_type} has a worker already")
        self._specs[job_type] = WorkerSpec(
            job_type, known.source, lambda _: drafting(domain, known.source, handler), batch
        )

    def include(self, specs: Iterable[WorkerSpec]) -> None:
        """Add the workers of one of Foja's domains."""
        self._specs |= {spec.type: spec for spec in specs}

    def include_domain(self, domain: Domain) -> None:
        """Let the job types of a user's domain be added, and run its `decide`."""
        self._types |= {job.name: (domain, job) for job in domain.jobs if job.name != domain.executor}
        if domain.decide and domain.executor and (executor := domain.job(domain.executor)):
            self._specs[executor.name] = WorkerSpec(
                executor.name,
                executor.source,
                lambda queue: Decider(queue.database, domain).work,
                wake_on=[domain.name],
            )

    async def open(self, only: Collection[str] | None = None) -> list[tuple[Worker, WorkerSpec]]:
        """Return the workers of these types, or all: each acts as its own role, or raises."""
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
            await worker.open()
        return found

    def queue(self, source: str) -> Queue:
        """Return the queue of a source, as its role."""
        if source not in self._queues:
            database = Database(self._settings.database_url, f"foja_{source.replace('-', '_')}", CONNECTIONS)
            self._closing.push_async_callback(database.close)
            queue = Queue(database, self._notifier, source=source, tenant=self._settings.tenant or None)
            self._closing.push_async_callback(queue.close)
            self._queues[source] = queue
        return self._queues[source]

    def _worker(self, spec: WorkerSpec) -> Worker:
        queue = self.queue(spec.source)
        return Worker(
            queue,
            spec.type,
            spec.work(queue),
            most=spec.batch,
            wake_on=spec.wake_on,
            run_lock=self._run_lock,
        )
