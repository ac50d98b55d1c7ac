"""Job queues: ours, pgqueuer and procrastinate, each used as in its documentation."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol
from uuid import UUID

import asyncpg
import pgqueuer
import procrastinate
from pgqueuer.types import QueueExecutionMode
from procrastinate.types import JSONDict

import foja
from bench.contenders.connections import connect, disconnect, execute, fetch, query
from bench.contenders.payloads import message
from bench.database import BenchDatabase
from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, Job, NewJob, Outcome
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft, new_id
from foja.engine.ledger.live.notifier import Notifier
from foja.errors import FojaError
from foja.pure.core.registry import Domain, JobType, Kind

CONTENT = {"content": "string"}
DO, IN_ORDER, DECIDE = "do_chore", "do_in_order", "decide_chore"
# Streams begin quietly, requests wake an executor, and the worker leaves an event.
CHORE = Domain(
    "chore",
    [
        Kind("chore.begun", required=CONTENT, wakes=False),
        Kind("chore.asked", required=CONTENT),
        Kind("chore.done", {"bench"}, CONTENT, wakes=False),
    ],
    jobs=[
        JobType(DO, "bench"),
        JobType(IN_ORDER, "bench", serial=True),
        JobType(DECIDE, "bench", level=True),
    ],
    executor=DECIDE,
)
FOJA, PGQUEUER, PGQUEUER_100, PROCRASTINATE = (
    "foja",
    "pgqueuer, batch 10",
    "pgqueuer, batch 100",
    "procrastinate",
)
SEED, CONCURRENCY = 500, 30
ONE_BY_ONE = "foja, no micro-batching"
_numbers = itertools.count(1)

for _name in ("procrastinate", "pgqueuer"):  # they log every job
    logging.getLogger(_name).setLevel(logging.ERROR)


class JobQueue(Protocol):
    """A queue with one worker."""

    name: str
    note: str

    async def create(self, database: BenchDatabase) -> None:
        """Create the schema."""

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        """Enqueue a job that does nothing for each document, in this order."""

    async def drain(self, seconds: float) -> int:
        """Run one worker until the queue is empty or the time is up; return the completed jobs."""

    @asynccontextmanager
    async def open_callers(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        """Yield a function that writes an event and enqueues its job in one transaction."""
        yield lambda caller, document: asyncio.sleep(0)

    async def queue_woken(self) -> None:
        """Queue the jobs that appends only recorded as woken; this time is measured too."""

    async def count(self) -> int:
        """Return the number of completed and queued jobs."""

    async def share_done(self, documents: Sequence[UUID]) -> float:
        """Return the share of these documents whose job is completed."""


class Foja:
    """Foja. Every job appends an event to its stream, in the transaction that completes it."""

    name = FOJA

    def __init__(self, *, micro_batch: bool = True) -> None:
        self.note = "one event per job" if micro_batch else "one append per call"
        self.name = FOJA if micro_batch else ONE_BY_ONE
        self._micro_batch = micro_batch

    async def create(self, database: BenchDatabase) -> None:
        self._database = database
        async with foja.connect(database_url=database.url, home=database.folder, domains=[CHORE]):
            pass

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        await self._create_streams(sorted(set(documents)))
        async with self._queue() as queue:
            for start in range(0, len(documents), SEED):
                part = documents[start : start + SEED]
                kind = IN_ORDER if in_order else DO
                await queue.enqueue(
                    [NewJob(kind, each, f"chore:{next(_numbers)}") for each in part], "default"
                )

    async def drain(self, seconds: float) -> int:
        done = 0
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        async with self._queue() as queue:
            for kind in (DO, IN_ORDER):
                worker = Worker(queue, kind, _complete)
                while clock() < end and (completed := await worker.step()):
                    done += completed
        return done

    @asynccontextmanager
    async def open_callers(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        await self._create_streams(documents)
        connection = foja.connect(
            database_url=self._database.url,
            home=self._database.folder,
            micro_batch=self._micro_batch,
            connections=callers,
        )
        async with connection as app:

            async def call(caller: int, document: UUID) -> None:
                await app.ledger.append(
                    draft(CHORE, document, "chore.asked", message(caller), tenant="default")
                )

            yield call

    async def queue_woken(self) -> None:
        await execute(self._database.url, "queue_all_woken")

    async def count(self) -> int:
        done, events, queued = (await fetch(self._database.url, "count_chores"))[0]
        if done != events:
            raise RuntimeError(f"{done} jobs are completed, {events} appended an event")
        return int(done + queued)

    async def share_done(self, documents: Sequence[UUID]) -> float:
        rows = await fetch(self._database.url, "done_chores", documents=list(documents))
        return int(rows[0][0]) / len(documents)

    async def _create_streams(self, documents: Sequence[UUID]) -> None:
        async with foja.connect(database_url=self._database.url, home=self._database.folder) as app:
            for start in range(0, len(documents), SEED):
                part = documents[start : start + SEED]
                drafts = [
                    draft(CHORE, each, "chore.begun", message(0), idempotency_key="begun", tenant="default")
                    for each in part
                ]
                for verdict in await app.ledger.append_each(drafts):
                    if isinstance(verdict, FojaError):
                        raise verdict

    @asynccontextmanager
    async def _queue(self) -> AsyncIterator[Queue]:
        database, notifier = (
            Database(self._database.url, "foja_bench", 2),
            Notifier(self._database.url, "foja_bench"),
        )
        notifier.open()
        queue = Queue(database, notifier, source="bench", tenant="default")
        try:
            yield queue
        finally:
            await queue.close()
            await notifier.close()
            await database.close()


async def _complete(jobs: Sequence[Job]) -> Sequence[Outcome]:
    return [
        Done(
            [
                draft(
                    CHORE,
                    job.entity_id,
                    "chore.done",
                    message(job.id),
                    source="bench",
                    idempotency_key=job.key,
                    tenant="default",
                )
            ]
        )
        for job in jobs
    ]


class PgQueuer:
    """pgqueuer on asyncpg, its fastest driver. Its jobs append no event."""

    note = "asyncpg; writes no event"

    def __init__(self, batch: int) -> None:
        self.name = PGQUEUER if batch == 10 else PGQUEUER_100
        self._batch = batch

    async def create(self, database: BenchDatabase) -> None:
        self._database = database
        await execute(database.url, "make_peer_events")
        async with self._connection() as connection:
            await pgqueuer.Queries.from_asyncpg_connection(connection).install()

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        async with self._connection() as connection:
            queries = pgqueuer.Queries.from_asyncpg_connection(connection)
            for start in range(0, len(documents), SEED):
                part = documents[start : start + SEED]
                await queries.enqueue([DO] * len(part), [each.bytes for each in part], [0] * len(part))

    async def drain(self, seconds: float) -> int:
        before = await self._done()
        async with self._connection() as connection:
            runner = pgqueuer.PgQueuer.from_asyncpg_connection(connection)

            @runner.entrypoint(DO)
            async def do_nothing(job: object) -> None:
                pass

            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await runner.run(batch_size=self._batch, mode=QueueExecutionMode.drain)
        return await self._done() - before

    @asynccontextmanager
    async def open_callers(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        connections = [await asyncpg.connect(self._database.url) for _ in range(callers)]
        queries = [pgqueuer.Queries.from_asyncpg_connection(each) for each in connections]

        async def call(caller: int, document: UUID) -> None:
            async with connections[caller].transaction():
                await connections[caller].execute(
                    query("insert_peer_event_asyncpg"), document, json.dumps(message(caller))
                )
                await queries[caller].enqueue(DO, document.bytes)

        try:
            yield call
        finally:
            for each in connections:
                await each.close()

    async def queue_woken(self) -> None:
        """Do nothing: its jobs are queued already."""

    async def count(self) -> int:
        return await self._done() + int((await fetch(self._database.url, "count_pgqueuer_all"))[0][0])

    async def share_done(self, documents: Sequence[UUID]) -> float:
        raise NotImplementedError("pgqueuer has no order per document")

    async def _done(self) -> int:
        return int((await fetch(self._database.url, "count_pgqueuer"))[0][0])

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self._database.url)
        try:
            yield connection
        finally:
            await connection.close()


class Procrastinate:
    """procrastinate with thirty concurrent jobs, as in its documentation. Its jobs append no event."""

    name = PROCRASTINATE
    note = f"concurrency {CONCURRENCY}; writes no event"

    async def create(self, database: BenchDatabase) -> None:
        self._database = database
        await execute(database.url, "make_peer_events")
        async with self._app() as app:
            await app.schema_manager.apply_schema_async()

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        async with self._app() as app:
            for lock, group in itertools.groupby(documents, key=lambda each: each if in_order else None):
                jobs: list[JSONDict] = [{"document": str(each)} for each in group]
                task = app.configure_task(DO, lock=str(lock) if in_order else None)
                for start in range(0, len(jobs), SEED):
                    await task.batch_defer_async(*jobs[start : start + SEED])

    async def drain(self, seconds: float) -> int:
        before = await self._done()
        async with self._app() as app:
            work = asyncio.create_task(
                app.run_worker_async(
                    wait=False, concurrency=CONCURRENCY, install_signal_handlers=False, listen_notify=False
                )
            )
            await asyncio.wait([work], timeout=seconds)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return await self._done() - before

    @asynccontextmanager
    async def open_callers(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        connections = await connect(self._database.url, callers)
        async with self._app() as app:

            async def call(caller: int, document: UUID) -> None:
                connection = connections[caller]
                async with connection.transaction():
                    await connection.execute(
                        query("insert_peer_event"), (document, json.dumps(message(caller))), prepare=True
                    )
                    await app.configure_task(DO, connection=connection).defer_async(document=str(document))

            yield call
        await disconnect(connections)

    async def queue_woken(self) -> None:
        """Do nothing: its jobs are queued already."""

    async def count(self) -> int:
        return int((await fetch(self._database.url, "count_procrastinate_all"))[0][0])

    async def share_done(self, documents: Sequence[UUID]) -> float:
        rows = await fetch(
            self._database.url, "done_procrastinate", documents=[str(each) for each in documents]
        )
        return int(rows[0][0]) / len(documents)

    async def _done(self) -> int:
        return int((await fetch(self._database.url, "count_procrastinate"))[0][0])

    @asynccontextmanager
    async def _app(self) -> AsyncIterator[procrastinate.App]:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self._database.url))

        @app.task(name=DO)
        async def do_nothing(document: str) -> None:
            pass

        async with app.open_async():
            yield app


def documents(count: int) -> list[UUID]:
    """Return new document ids."""
    return [new_id() for _ in range(count)]


__all__ = ["Foja", "JobQueue", "PgQueuer", "Procrastinate", "documents"]
