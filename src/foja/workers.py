"""The staff: a worker for every job type, hired when somebody wants work done."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from foja import sql
from foja.blobs.store import Store
from foja.documents import artifacts, executor, renewal, timestamps
from foja.documents.artifacts import ArtifactWorker
from foja.documents.bundles import Bundles
from foja.documents.executor import Executor
from foja.documents.model.events import DOCUMENT
from foja.documents.renewal import RenewalWorker
from foja.documents.service import Documents
from foja.documents.stamper import Stamper
from foja.documents.timestamps import TimestampWorker
from foja.driver.database import Database
from foja.errors import UnknownJob
from foja.jobs.exclusive import RunLock
from foja.jobs.queue import Queue
from foja.jobs.worker import Worker
from foja.ledger.ledger import Ledger
from foja.ledger.live.notifier import Notifier
from foja.settings import Settings

CONNECTIONS = 4  # of each source
PAGE_DOCUMENTS, LOCKED_AT_ONCE = 500, 20
MIN_CHECKPOINT_WAIT = 0.5  # seconds, for a checkpoint


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many documents there are, how many were listed wrong, and of how many the guards knew wrong."""

    documents: int
    mended: int
    retracked: int = 0


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What the staff works with."""

    ledger: Ledger
    store: Store
    documents: Documents
    bundles: Bundles
    stamper: Stamper


class Workers:
    """Workers by job type. A process that only writes opens nothing for them."""

    def __init__(
        self, settings: Settings, notifier: Notifier, closing: AsyncExitStack, tools: WorkerContext
    ) -> None:
        self._settings, self._notifier, self._closing, self._tools = settings, notifier, closing, tools

    @cached_property
    def workers(self) -> list[Worker]:
        """Everybody, hired on first use."""
        stamping, building = self._queue(timestamps.SOURCE), self._queue(artifacts.SOURCE)
        tools, run_lock, stamps = self._tools, RunLock(), TimestampWorker(self._tools.stamper)
        renewals = RenewalWorker(tools.bundles, tools.store, tools.ledger)
        wait = max(self._settings.checkpoint_seconds, MIN_CHECKPOINT_WAIT)
        artifact, decide = ArtifactWorker(tools.bundles, tools.store, wait), self._executor.work
        return [
            Worker(
                self._deciding, executor.TYPE, decide, most=256, wake_on=[DOCUMENT.name], run_lock=run_lock
            ),
            # Two, so that authorities are asked while the answers of others are recorded.
            *(
                Worker(stamping, timestamps.TYPE, stamps.work, most=timestamps.BATCH, run_lock=run_lock)
                for _ in range(2)
            ),
            Worker(building, artifacts.TYPE, artifact.work, most=artifacts.BATCH, run_lock=run_lock),
            Worker(building, renewal.TYPE, renewals.work, most=1, run_lock=run_lock),
        ]

    async def chosen(self, only: Collection[str] | None) -> list[Worker]:
        """Return who does these types, or all: each as its own role, or not at all."""
        types = {worker.type for worker in self.workers}
        if unknown := sorted(set(only or ()) - types):
            raise UnknownJob(f"nobody here does {unknown[0]!r}; choose from {', '.join(sorted(types))}")
        chosen = [worker for worker in self.workers if only is None or worker.type in only]
        for worker in chosen:
            await worker.open()
        return chosen

    async def rebuild(self) -> Rebuilt:
        """Write what stands beside the events of documents anew, by replay; others may write meanwhile."""
        ask = self._tools.ledger.ask
        documents, mended, retracked, after = 0, 0, 0, None
        while page := [row[0] for row in await ask("document_ids", after=after, limit=PAGE_DOCUMENTS)]:
            documents, after = documents + len(page), page[-1]
            retracked += await self._retrack(page)
            mended += await self._executor.rebuild(page)
        return Rebuilt(documents, mended, retracked)

    async def _retrack(self, documents: list[UUID]) -> int:
        """Do so for what guards and deadlines are decided from; a few are locked at a time."""
        database, found = self._deciding.database, 0
        for start in range(0, len(documents), LOCKED_AT_ONCE):
            locked = documents[start : start + LOCKED_AT_ONCE]
            found += len(await database.rows(sql.query("rebuild_documents"), entities=locked))
        return found

    @cached_property
    def _deciding(self) -> Queue:
        return self._queue(executor.SOURCE)

    @property
    def _executor(self) -> Executor:
        documents = self._tools.documents
        return Executor(self._deciding.database, documents.abilities, documents.policy)

    def _queue(self, source: str) -> Queue:
        role = f"foja_{source.replace('-', '_')}"
        database = Database(self._settings.database_url, role, CONNECTIONS)
        self._closing.push_async_callback(database.close)
        queue = Queue(database, self._notifier, source=source, tenant=self._settings.tenant)
        self._closing.push_async_callback(queue.close)
        return queue
