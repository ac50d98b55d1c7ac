"""Ways to have work done: ours, pgqueuer and procrastinate, each as its own documentation runs it."""

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
from bench.contenders.connections import ask, connect, disconnect, tell
from bench.contenders.text import payload, query
from bench.place import Room
from foja.core.registry import Kind, domain
from foja.driver.database import Database
from foja.errors import FojaError
from foja.jobs.outcome import Done, Job, NewJob, Outcome
from foja.jobs.queue import Queue
from foja.jobs.worker import Worker
from foja.ledger.event import draft, new_id
from foja.ledger.live.notifier import Notifier

CONTENT = {"content": "string"}
CHORE = domain(
    "chore",
    [
        Kind("chore.begun", frozenset({"api"}), CONTENT),
        Kind("chore.asked", frozenset({"api"}), CONTENT),
        Kind("chore.done", frozenset({"bench"}), CONTENT),
    ],
)
DO, IN_ORDER = "do_chore", "do_in_order"
FOJA, PGQUEUER, PGQUEUER_100, PROCRASTINATE = (
    "foja",
    "pgqueuer, batch 10",
    "pgqueuer, batch 100",
    "procrastinate",
)
SEED, CONCURRENCY = 500, 30
ONE_BY_ONE = "foja, no micro-batching"
_numbers = itertools.count(1)

for _name in ("procrastinate", "pgqueuer"):  # they report every job
    logging.getLogger(_name).setLevel(logging.ERROR)


class Crew(Protocol):
    """A queue and the one worker process that empties it."""

    name: str
    note: str

    async def create(self, room: Room) -> None:
        """Make the schema."""

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        """Enqueue a job that does nothing for each of these documents, as they come."""

    async def drain(self, seconds: float) -> int:
        """Let one worker work until nothing is left or time is up; return the jobs done."""

    @asynccontextmanager
    async def asking(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        """Lend a call that writes an event and enqueues its job in one transaction."""
        yield lambda caller, document: asyncio.sleep(0)

    async def enlist(self) -> None:
        """Queue what was only noted in the transaction of its event; its time counts."""

    async def count(self) -> int:
        """Return how many jobs were ever done well or are still queued."""

    async def share_done(self, documents: Sequence[UUID]) -> float:
        """Return the share of these documents whose job is done."""


class Foja:
    """Ours. Every job leaves a fact in its document's stream, in the transaction that ends it."""

    name = FOJA

    def __init__(self, *, micro_batch: bool = True) -> None:
        self.note = "one event per job" if micro_batch else "every append alone"
        self.name = FOJA if micro_batch else ONE_BY_ONE
        self._micro_batch = micro_batch

    async def create(self, room: Room) -> None:
        self._room = room
        async with foja.connect(database_url=room.url, home=room.folder):
            await tell(room.url, "make_chores")
            await tell(room.url, "make_bench_role")

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        await self._begin(sorted(set(documents)))
        async with self._queue() as queue:
            for start in range(0, len(documents), SEED):
                part = documents[start : start + SEED]
                kind = IN_ORDER if in_order else DO
                await queue.enqueue([NewJob(kind, each, f"chore:{next(_numbers)}") for each in part])

    async def drain(self, seconds: float) -> int:
        done = 0
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        async with self._queue() as queue:
            for kind in (DO, IN_ORDER):
                worker = Worker(queue, kind, _leave_a_fact)
                while clock() < end and (some := await worker.step()):
                    done += some
        return done

    @asynccontextmanager
    async def asking(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        await self._begin(documents)
        place = foja.connect(
            database_url=self._room.url,
            home=self._room.folder,
            micro_batch=self._micro_batch,
            connections=callers,
        )
        async with place as app:

            async def call(caller: int, document: UUID) -> None:
                await app.ledger.append(draft(CHORE, document, "chore.asked", payload(caller)))

            yield call

    async def enlist(self) -> None:
        await tell(self._room.url, "queue_all_woken")

    async def count(self) -> int:
        done, facts, asked = (await ask(self._room.url, "count_chores"))[0]
        if done != facts:
            raise RuntimeError(f"{done} jobs are done, {facts} left a fact")
        return int(done + asked)

    async def share_done(self, documents: Sequence[UUID]) -> float:
        rows = await ask(self._room.url, "done_chores", documents=list(documents))
        return int(rows[0][0]) / len(documents)

    async def _begin(self, documents: Sequence[UUID]) -> None:
        async with foja.connect(database_url=self._room.url, home=self._room.folder) as app:
            for start in range(0, len(documents), SEED):
                part = documents[start : start + SEED]
                drafts = [
                    draft(CHORE, each, "chore.begun", payload(0), idempotency_key="begun") for each in part
                ]
                for verdict in await app.ledger.append_each(drafts):
                    if isinstance(verdict, FojaError):
                        raise verdict

    @asynccontextmanager
    async def _queue(self) -> AsyncIterator[Queue]:
        database, notifier = Database(self._room.url, "foja_bench", 2), Notifier(self._room.url, "foja_bench")
        notifier.open()
        queue = Queue(database, notifier, source="bench", tenant="default")
        try:
            yield queue
        finally:
            await queue.close()
            await notifier.close()
            await database.close()


async def _leave_a_fact(jobs: Sequence[Job]) -> Sequence[Outcome]:
    return [
        Done(
            [
                draft(
                    CHORE,
                    job.entity_id,
                    "chore.done",
                    payload(job.id),
                    source="bench",
                    idempotency_key=job.key,
                )
            ]
        )
        for job in jobs
    ]


class PgQueuer:
    """pgqueuer on asyncpg, its fastest driver. Its jobs leave nothing."""

    note = "asyncpg; writes no event"

    def __init__(self, batch: int) -> None:
        self.name = PGQUEUER if batch == 10 else PGQUEUER_100
        self._batch = batch

    async def create(self, room: Room) -> None:
        self._room = room
        await tell(room.url, "make_peer_events")
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
            async def chore(job: object) -> None:
                pass

            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await runner.run(batch_size=self._batch, mode=QueueExecutionMode.drain)
        return await self._done() - before

    @asynccontextmanager
    async def asking(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        connections = [await asyncpg.connect(self._room.url) for _ in range(callers)]
        queries = [pgqueuer.Queries.from_asyncpg_connection(each) for each in connections]

        async def call(caller: int, document: UUID) -> None:
            async with connections[caller].transaction():
                await connections[caller].execute(
                    query("insert_peer_event_asyncpg"), document, json.dumps(payload(caller))
                )
                await queries[caller].enqueue(DO, document.bytes)

        try:
            yield call
        finally:
            for each in connections:
                await each.close()

    async def enlist(self) -> None:
        """Do nothing: its jobs are queued."""

    async def count(self) -> int:
        return await self._done() + int((await ask(self._room.url, "count_pgqueuer_all"))[0][0])

    async def share_done(self, documents: Sequence[UUID]) -> float:
        raise NotImplementedError("it has no order per document")

    async def _done(self) -> int:
        return int((await ask(self._room.url, "count_pgqueuer"))[0][0])

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self._room.url)
        try:
            yield connection
        finally:
            await connection.close()


class Procrastinate:
    """procrastinate with thirty jobs at once, as its documentation shows it. Its jobs leave nothing."""

    name = PROCRASTINATE
    note = f"concurrency {CONCURRENCY}; writes no event"

    async def create(self, room: Room) -> None:
        self._room = room
        await tell(room.url, "make_peer_events")
        async with self._app() as app:
            await app.schema_manager.apply_schema_async()

    async def fill(self, documents: Sequence[UUID], *, in_order: bool) -> None:
        async with self._app() as app:
            for lock, together in itertools.groupby(documents, key=lambda each: each if in_order else None):
                jobs: list[JSONDict] = [{"document": str(each)} for each in together]
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
    async def asking(
        self, callers: int, documents: Sequence[UUID]
    ) -> AsyncIterator[Callable[[int, UUID], Awaitable[None]]]:
        connections = await connect(self._room.url, callers)
        async with self._app() as app:

            async def call(caller: int, document: UUID) -> None:
                connection = connections[caller]
                async with connection.transaction():
                    await connection.execute(
                        query("insert_peer_event"), (document, json.dumps(payload(caller))), prepare=True
                    )
                    await app.configure_task(DO, connection=connection).defer_async(document=str(document))

            yield call
        await disconnect(connections)

    async def enlist(self) -> None:
        """Do nothing: its jobs are queued."""

    async def count(self) -> int:
        return int((await ask(self._room.url, "count_procrastinate_all"))[0][0])

    async def share_done(self, documents: Sequence[UUID]) -> float:
        rows = await ask(self._room.url, "done_procrastinate", documents=[str(each) for each in documents])
        return int(rows[0][0]) / len(documents)

    async def _done(self) -> int:
        return int((await ask(self._room.url, "count_procrastinate"))[0][0])

    @asynccontextmanager
    async def _app(self) -> AsyncIterator[procrastinate.App]:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self._room.url))

        @app.task(name=DO)
        async def chore(document: str) -> None:
            pass

        async with app.open_async():
            yield app


def documents(count: int) -> list[UUID]:
    """Return the ids of so many documents."""
    return [new_id() for _ in range(count)]


__all__ = ["Crew", "Foja", "PgQueuer", "Procrastinate", "documents"]
