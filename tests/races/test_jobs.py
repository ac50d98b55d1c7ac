"""Appends, claims, completions, cancellations and sweeps at full speed: no deadlock, no loss, in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import psycopg
import pytest

from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, Job, NewJob, Outcome, Retry
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.sweeper import sweep_jobs
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft, new_id
from foja.engine.sql import query
from tests.job_domain import DECIDE, DECIDER, ERRAND, IN_ORDER, RUN, Admin, ask, fact, install, queue, wanted

ASK = b"select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')"
ENOUGH = 40


class Town:
    """A few streams that everybody works on at once."""

    def __init__(self, url: str, entities: Sequence[UUID]) -> None:
        self.url, self.entities = url, sorted(entities)
        self.open = True
        self.settled = self.audits = 0
        self.read: dict[UUID, int] = {}  # by its executor, at last

    async def writer(self) -> None:
        """Append to one to three streams in one transaction, as psql would, in their order.

        Every other half second calmly: only an executor that had time to end can be woken.
        """
        async with await psycopg.AsyncConnection.connect(self.url) as conn:
            while self.open:
                for entity in sorted(random.sample(self.entities, random.randint(1, 3))):
                    await conn.execute(ASK, [entity])
                await conn.commit()
                calm = asyncio.get_running_loop().time() % 1 < 0.5
                await asyncio.sleep(random.random() / 10 if calm else 0)

    async def decider(self) -> None:
        async with queue(self.url, DECIDER) as opened:

            async def decide(jobs: Sequence[Job]) -> Sequence[Outcome]:
                ids = [job.entity_id for job in jobs]
                rows = await opened.database.rows(
                    "select entity_id, sealed from foja.entity where entity_id = any (%(ids)s)", ids=ids
                )
                sealed: dict[UUID, int] = dict(rows)
                for entity, read in sealed.items():
                    self.read[entity] = max(read, self.read.get(entity, 0))
                ends = [self._decision(job, sealed[job.entity_id]) for job in jobs]
                past.extend(zip(jobs, ends, strict=True))
                return ends

            past: list[tuple[Job, Done]] = []
            await asyncio.gather(
                self._work(Worker(opened, DECIDE, decide, most=5)), self._repeat(opened, past)
            )

    async def _repeat(self, opened: Queue, past: Sequence[tuple[Job, Done]]) -> None:
        """Settle again what was settled, or given to somebody else since."""
        while self.open:
            for job, end in past[-20:-5]:
                await opened.settle([(job, Done(read=end.read))])
            await asyncio.sleep(0.02)

    async def runner(self, kind: str) -> None:
        async with queue(self.url) as opened:

            async def do(jobs: Sequence[Job]) -> Sequence[Outcome]:
                if self.open and random.random() < 0.02:
                    raise asyncio.CancelledError  # as if it had died: nobody settles these
                return [self._end(job) for job in jobs]

            await self._work(Worker(opened, kind, do, most=10))

    async def operator(self) -> None:
        """Cancel and retry at random, several jobs at once."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as conn:
            while self.open:
                await conn.execute(
                    """select foja.cancel_jobs_v1(array(select job_id from foja.job
                        where state in ('running', 'succeeded') order by random() limit 2))"""
                )
                await conn.execute(
                    """select foja.retry_jobs_v1(array(select job_id from foja.job
                        where state in ('dead', 'retry_scheduled')
                            or type = 'decide_errand' and state in ('succeeded', 'cancelled')
                        order by random() limit 5))"""
                )
                await asyncio.sleep(0.02)
            await conn.execute(
                """select foja.retry_jobs_v1(array(select job_id from foja.job
                    where type = 'decide_errand' and state in ('dead', 'cancelled')))"""
            )

    async def sweeper(self) -> None:
        database = Database(self.url, "foja_sweeper", 1)
        while self.open:
            await sweep_jobs(database)
            await asyncio.sleep(0.02)
        await database.close()

    async def auditor(self) -> None:
        """At every moment each line has one first job, and every stream that grew has somebody to look."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as conn:
            while self.open:
                for question in ("audit_stuck_queues", "audit_sleepers"):
                    found = await (await conn.execute(query(question))).fetchall()
                    assert found == [], question
                    self.audits += 1
                await asyncio.sleep(0.05)

    def _decision(self, job: Job, read: int) -> Done:
        if not self.open:
            return Done(read=read)
        event = draft(
            ERRAND, job.entity_id, "errand.decided", {"read": read}, source=DECIDER, tenant="default"
        )
        wish = [NewJob(kind, job.entity_id, f"{kind}:{job.entity_id}:{read}") for kind in (RUN, IN_ORDER)]
        return Done([event], wish, read=read)

    def _end(self, job: Job) -> Outcome:
        if self.open and random.random() < 0.05:
            return Retry("not now", after=0.01)
        return Done([fact(job, job.id, idempotency_key=job.key)])

    async def _work(self, worker: Worker) -> None:
        idle = 0
        while self.open or idle < ENOUGH:
            done = await worker.step()
            self.settled += done
            idle = 0 if done else idle + 1
            if not done:
                await asyncio.sleep(0.01)


async def live(url: str, seconds: float) -> Town:
    """Let everybody work for a while, and then until nothing is left."""
    town = Town(url, [])
    with psycopg.connect(url, autocommit=True) as admin:
        town.entities = sorted(ask(admin, *[new_id() for _ in range(8)]))
    parts: list[Callable[[], Awaitable[None]]] = [town.writer, town.writer, town.decider, town.decider]
    parts += [lambda: town.runner(RUN), lambda: town.runner(RUN), lambda: town.runner(IN_ORDER)]
    parts += [lambda: town.runner(IN_ORDER), town.operator, town.sweeper, town.auditor]
    tasks = [asyncio.ensure_future(part()) for part in parts]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    # A busy machine does less in that time: everybody goes on until there is enough to judge.
    async with asyncio.timeout(180):
        while not (enough(town) or any(task.done() for task in tasks)):
            await asyncio.sleep(0.2)
    town.open = False
    await asyncio.gather(*tasks)
    return town


def enough(town: Town) -> bool:
    """Return whether jobs were settled and audited often enough to be checked."""
    with psycopg.connect(town.url, autocommit=True) as admin:
        [(succeeded,)] = admin.execute("select count(*) from foja.job where state = 'succeeded'").fetchall()
    return bool(succeeded > 20 and town.settled > 50 and town.audits > 10)


def check(admin: Admin, town: Town) -> None:
    deadlocks = admin.execute(
        "select deadlocks from pg_stat_database where datname = current_database()"
    ).fetchone()
    assert deadlocks == (0,)
    states = dict(admin.execute("select state, count(*) from foja.job group by state").fetchall())
    assert states.keys() <= {"succeeded", "cancelled", "dead"}, states
    assert states["succeeded"] > 20
    facts = admin.execute("select count(*) from foja.event where kind = 'errand.done'").fetchone()
    done = admin.execute(
        "select count(*) from foja.job where state = 'succeeded' and type <> 'decide_errand'"
    ).fetchone()
    assert facts == done, "a fact for each job that is done, and for no other"
    awake = admin.execute("select count(*) from foja.entity where awake is not null").fetchone()
    assert awake == (0,)
    grown = admin.execute(
        """select entity_id, max(seq) + 1 from foja.event where kind <> 'errand.decided' group by entity_id"""
    ).fetchall()
    assert all(town.read[entity] >= length for entity, length in grown), "every executor has seen everything"
    assert town.settled > 50
    assert town.audits > 10


@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
async def test_full_speed_without_a_deadlock(seconds: float, admin: Admin, database_url: str) -> None:
    install(admin)
    admin.execute("update foja.job_type set lease = '300 ms', max_tries = 4")
    check(admin, await live(database_url, seconds))


async def test_a_hot_stream_starves_nobody_and_keeps_its_order(admin: Admin, database_url: str) -> None:
    """Its line of jobs is in front; a worker that takes fifty at a time is through the others at once."""
    install(admin)
    hot, *others = ask(admin, *[new_id() for _ in range(301)])
    async with queue(database_url) as opened:
        await opened.enqueue([NewJob(IN_ORDER, hot, f"hot {n:03}") for n in range(200)], "default")
        await opened.enqueue([NewJob(IN_ORDER, other, f"other {other}") for other in others], "default")
        claims = []
        while jobs := await opened.claim(IN_ORDER, 50, "w"):
            claims.append([job.key for job in jobs])
            await opened.settle([(job, Done([fact(job, len(claims))])) for job in jobs])
    served = [key for keys in claims for key in keys]
    assert len(set(served)) == len(served) == 500
    assert [key for key in served if key.startswith("hot")] == sorted(
        key for key in served if key.startswith("hot")
    )
    assert all(sum(key.startswith("hot") for key in keys) == 1 for keys in claims)
    last_other = max(at for at, keys in enumerate(claims) if any(key.startswith("other") for key in keys))
    assert last_other <= 300 // 49, "as if the hot one were not there"


async def test_a_sweep_leaves_a_locked_stream_for_later(admin: Admin, database_url: str) -> None:
    """A writer that locks streams in any order neither delays a sweep nor deadlocks with it."""
    install(admin)
    first, second = sorted(ask(admin, new_id(), new_id()))
    async with queue(database_url) as opened:
        await opened.enqueue([wanted(second, "killer"), wanted(first, "cancelled")], "default")
    admin.execute("""update foja.job set state = 'running', alone = true, tries = max_tries,
        lease_until = now() - interval '1 s' where dedupe_key = 'killer'""")
    admin.execute("""update foja.job set state = 'cancelled' where dedupe_key = 'cancelled'""")
    database = Database(database_url, "foja_sweeper", 1)
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(ASK, [second])
        assert await sweep_jobs(database) == 1, "only the job of the free stream"
        await writer.execute(ASK, [first])
        assert await sweep_jobs(database) == 0
        await writer.commit()
    assert await sweep_jobs(database) == 1, "the other one, once its stream is free"
    await database.close()


async def test_many_workers_share_without_doing_anything_twice(admin: Admin, database_url: str) -> None:
    install(admin)
    entities = ask(admin, *[new_id() for _ in range(20)])
    done: list[int] = []

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        done.extend(job.id for job in jobs)
        return [Done([fact(job)]) for job in jobs]

    async def one(opened: Queue) -> None:
        await Worker(opened, RUN, work, most=7).run(until_idle=True)

    async with queue(database_url) as first, queue(database_url) as second:
        await first.enqueue([NewJob(RUN, entities[n % 20], str(n)) for n in range(400)], "default")
        await asyncio.gather(*[one(first), one(second), one(first), one(second)])
    assert len(done) == len(set(done)) == 400
