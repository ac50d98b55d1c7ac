"""Workers that die, stop, or lose their wire between claim and commit: done once, tried once, never stuck."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from foja.engine.driver.database import Database
from foja.engine.embedded.postgres import start, stop
from foja.engine.jobs.exclusive import RunLock
from foja.engine.jobs.heartbeat import Heartbeat
from foja.engine.jobs.outcome import Done, Job, Outcome
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.sweeper import sweep_jobs
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import new_id
from foja.engine.sql.migrate import migrate
from foja.errors import LedgerUnavailable
from tests.faults.mortal import KILLED, STEPS, Moment, Step
from tests.faults.proxy import Moment as Cut
from tests.faults.proxy import wired
from tests.faults.servers.job_scene import Order, run
from tests.job_domain import (
    DECIDE,
    DECIDER,
    RUN,
    RUNNER,
    Admin,
    ask,
    do_well,
    fact,
    install,
    kinds,
    queue,
    states,
    wanted,
)


@pytest.fixture
def entities(admin: Admin) -> list[UUID]:
    """Three streams, each with an executor queued."""
    install(admin)
    return [ask(admin)[0] for _ in range(3)]


async def enqueue(url: str, entities: Sequence[UUID]) -> None:
    async with queue(url) as opened:
        await opened.enqueue([wanted(entity, f"{RUN}:{entity}") for entity in entities], "default")


def expire(admin: Admin) -> int:
    """Let every lease be over; return how many there were."""
    done = admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")
    return done.rowcount


def tries(admin: Admin, kind: str) -> set[int]:
    return {n for (n,) in admin.execute("select tries from foja.job where type = %s", [kind])}


@pytest.mark.parametrize(("step", "moment"), STEPS)
async def test_a_worker_killed_at_any_step_leaves_nothing_undone_and_nothing_twice(
    step: Step, moment: Moment, entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)
    assert run(Order(database_url, RUNNER, step, moment)) == KILLED
    for _ in range(4):
        expire(admin)
        async with queue(database_url) as opened:
            await Worker(opened, RUN, do_well).run(until_idle=True)
    assert states(admin) == {"succeeded": 3}
    assert tries(admin, RUN) == {1}
    for entity in entities:
        assert kinds(admin, entity) == ["errand.asked", "errand.done"]


@pytest.mark.parametrize(("step", "moment"), STEPS)
def test_an_executor_killed_at_any_step_decides_once(
    step: Step, moment: Moment, entities: list[UUID], admin: Admin, database_url: str
) -> None:
    assert run(Order(database_url, DECIDER, step, moment)) == KILLED
    expire(admin)
    while states(admin, DECIDE) != {"succeeded": 3}:
        assert run(Order(database_url, DECIDER)) == 0
        expire(admin)
    for entity in entities:
        assert kinds(admin, entity) == ["errand.asked", "errand.decided"]
    assert states(admin, RUN) == {"queued": 3}
    assert tries(admin, DECIDE) == {1}


async def test_a_job_that_kills_its_worker_every_time_ends_dead_alone(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)
    killer = f"{RUN}:{entities[1]}"
    sweeper = Database(database_url, "foja_sweeper", 1)
    deaths = 0
    while states(admin).keys() & {"queued", "running"}:
        deaths += run(Order(database_url, killer=killer)) == KILLED
        expire(admin)
        await sweep_jobs(sweeper)
    await sweeper.close()
    assert deaths == 4, "once in company, and three tries of its own"
    rows = dict(admin.execute("select dedupe_key, (state, tries)::text from foja.job where type = %s", [RUN]))
    assert rows == {f"{RUN}:{e}": "(dead,3)" if e == entities[1] else "(succeeded,1)" for e in entities}
    assert kinds(admin, entities[1]) == ["errand.asked", "errand.failed"]


@pytest.mark.parametrize("statement", ["claim_jobs_v1", "settle_jobs", "enqueue_jobs"])
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_wire_cut_at_any_step_costs_time_and_nothing_else(
    statement: str, cut: Cut, entities: list[UUID], admin: Admin, database_url: str
) -> None:
    admin.execute("update foja.job_type set lease = '500 ms'")
    async with wired(database_url) as wire:
        if statement != "enqueue_jobs":
            await enqueue(database_url, entities)
        wire.cut(statement, cut)
        async with queue(wire.url) as opened:
            working = asyncio.create_task(Worker(opened, RUN, do_well).run())
            while states(admin) != {"succeeded": 3}:
                if statement == "enqueue_jobs":
                    with contextlib.suppress(Exception):
                        await opened.enqueue(
                            [wanted(entity, f"{RUN}:{entity}") for entity in entities], "default"
                        )
                assert not working.done()
                await asyncio.sleep(0.05)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        assert wire.cuts == 1
    assert tries(admin, RUN) == {1}
    for entity in entities:
        assert kinds(admin, entity) == ["errand.asked", "errand.done"]


async def test_the_late_one_of_two_workers_changes_nothing_and_says_so(
    entities: list[UUID], admin: Admin, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It was stopped for longer than its lease, so that not even a heartbeat went out."""
    admin.execute("update foja.job_type set lease = '1 s'")
    await enqueue(database_url, entities)
    stopped, taken = threading.Event(), threading.Event()

    async def stop(jobs: Sequence[Job]) -> Sequence[Outcome]:
        stopped.set()
        taken.wait(60)  # holds the whole loop, as a stopped process would
        return [Done([fact(job, 2)]) for job in jobs]

    async def late() -> None:
        async with queue(database_url) as opened:
            await Worker(opened, RUN, stop).step()

    thread = threading.Thread(target=lambda: asyncio.run(late()))
    thread.start()
    await asyncio.to_thread(stopped.wait, 30)
    admin.execute("update foja.job_type set lease = '1 min'")  # the other one loses no lease
    async with queue(database_url) as opened:
        worker = Worker(opened, RUN, do_well)
        while states(admin) != {"succeeded": 3}:
            await worker.step()
            await asyncio.sleep(0.05)
    before = admin.execute("select * from foja.job order by job_id").fetchall()
    with caplog.at_level(logging.WARNING, "foja.jobs"):
        taken.set()
        await asyncio.to_thread(thread.join, 30)
    assert admin.execute("select * from foja.job order by job_id").fetchall() == before
    assert sum("nothing was recorded" in record.message for record in caplog.records) == 3
    said = admin.execute(
        "select distinct payload ->> 'n' from foja.event where kind = 'errand.done'"
    ).fetchall()
    assert said == [("1",)]


async def test_a_heartbeat_keeps_a_long_job(entities: list[UUID], admin: Admin, database_url: str) -> None:
    admin.execute("update foja.job_type set lease = '5 s'")  # a beat may be late by three
    await enqueue(database_url, entities[:1])

    async def slowly(jobs: Sequence[Job]) -> Sequence[Outcome]:
        first = admin.execute("select lease_until from foja.job").fetchone()
        while admin.execute("select clock_timestamp() < %s", first).fetchone() == (True,):
            await asyncio.sleep(0.1)
            assert await other.claim(RUN, 10, "other") == []
        assert await other.claim(RUN, 10, "other") == [], "the first lease is over, and was extended"
        return await do_well(jobs)

    async with queue(database_url) as opened, queue(database_url) as other:
        assert await Worker(opened, RUN, slowly).step() == 1
    assert states(admin) == {"succeeded": 1}


async def test_two_missed_beats_stop_the_work_and_the_claiming(
    entities: list[UUID], admin: Admin, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A beat is missed because its connection was cut or because the machine is busy; both count."""
    admin.execute("update foja.job_type set lease = '300 ms'")
    await enqueue(database_url, entities[:1])
    beat, stopped = Heartbeat.beat, asyncio.Event()
    missed: list[int] = []  # how many jobs each missed beat was for

    async def slowly(jobs: Sequence[Job]) -> Sequence[Outcome]:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.set()
            raise
        return []

    async def counted(heartbeat: Heartbeat, jobs: Sequence[Job]) -> set[int]:
        try:
            return await beat(heartbeat, jobs)
        except BaseException:
            missed.append(len(jobs))
            raise

    monkeypatch.setattr(Heartbeat, "beat", counted)
    async with wired(database_url) as wire, queue(wire.url) as opened:
        wire.cut("heartbeat_jobs_v1", "before", times=1_000_000)
        worker = Worker(opened, RUN, slowly)
        working = asyncio.create_task(worker.run())
        await asyncio.wait_for(stopped.wait(), 40)
        while len(missed) < 3:  # it asks whether it may go on before it claims again
            await asyncio.sleep(0.05)
        assert missed[:3] == [1, 1, 0]
        assert kinds(admin, entities[0]) == ["errand.asked"]
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_one_missed_beat_ends_as_a_fault_although_no_further_beat_is_due(
    entities: list[UUID], admin: Admin, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    admin.execute("update foja.job_type set lease = '20 s'")
    await enqueue(database_url, entities[:1])

    async with wired(database_url) as wire, queue(wire.url) as opened:

        async def until_missed(jobs: Sequence[Job]) -> Sequence[Outcome]:
            while not caplog.records:
                await asyncio.sleep(0.05)
            return await do_well(jobs)

        wire.cut("heartbeat_jobs_v1", "before", times=1)
        working = asyncio.create_task(Worker(opened, RUN, until_missed).run())
        async with asyncio.timeout(60):
            while not any("works again" in record.getMessage() for record in caplog.records):
                await asyncio.sleep(0.05)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert states(admin) == {"succeeded": 1}


async def test_a_worker_told_to_stop_hands_back_what_it_has(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)
    began = asyncio.Event()

    async def slowly(jobs: Sequence[Job]) -> Sequence[Outcome]:
        began.set()
        await asyncio.sleep(60)
        return []

    async with queue(database_url) as opened:
        working = asyncio.create_task(Worker(opened, RUN, slowly).run())
        await began.wait()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        assert working.cancelled()
    assert states(admin) == {"queued": 3}
    assert tries(admin, RUN) == {0}


async def test_a_worker_told_to_stop_twice_hands_back_what_it_has_once_its_work_has_ended(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    """On a busy machine work ends late, and `tasks.end` cancels the worker again meanwhile."""
    await enqueue(database_url, entities)
    began, stops, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ending_late(jobs: Sequence[Job]) -> Sequence[Outcome]:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            stops.set()
            await may_end.wait()
        return []

    async with queue(database_url) as opened:
        working = asyncio.create_task(Worker(opened, RUN, ending_late).run())
        await began.wait()
        working.cancel()
        await stops.wait()
        working.cancel()
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(working, return_exceptions=True)
    assert states(admin) == {"queued": 3}
    assert tries(admin, RUN) == {0}


class Slow(Queue):
    """A queue that takes its time to settle."""

    settles = asyncio.Event()

    async def settle(self, settled: Sequence[tuple[Job, Outcome]]) -> list:
        self.settles.set()
        await asyncio.sleep(0.3)
        return await super().settle(settled)


async def test_a_worker_told_to_stop_while_it_settles_settles_first(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)
    async with queue(database_url, make=Slow) as opened:
        working = asyncio.create_task(Worker(opened, RUN, do_well).run())
        await asyncio.wait_for(Slow.settles.wait(), 60)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert states(admin) == {"succeeded": 3}


async def test_one_bad_job_of_a_batch_fails_alone(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    """In the work, and in what the ledger makes of its facts."""
    await enqueue(database_url, entities)

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        if any(job.entity_id == entities[0] for job in jobs):
            raise ValueError("not this one")
        return [Done([fact(job, expected_seq=99 if job.entity_id == entities[1] else None)]) for job in jobs]

    async with queue(database_url) as opened:
        await Worker(opened, RUN, work).step()
    rows = dict(
        admin.execute("select entity_id, (state, last_error)::text from foja.job where type = %s", [RUN])
    )
    assert rows[entities[0]] == '(retry_scheduled,"ValueError: not this one")'
    assert "retry_scheduled" in rows[entities[1]]
    assert "the next number is 1, not 99" in rows[entities[1]]
    assert rows[entities[2]].startswith("(succeeded")


async def test_a_killer_runs_while_nothing_else_does() -> None:
    """Several workers in one process share its life: a job that came back alone waits for the others."""
    run_lock = RunLock()
    running: list[str] = []

    async def part(name: str, *, alone: bool) -> None:
        async with run_lock.join(alone=alone):
            assert not alone or not running
            running.append(name)
            await asyncio.sleep(0.01)
            assert not alone or running == [name]
            running.remove(name)

    async with asyncio.timeout(60):
        await asyncio.gather(*(part(str(n), alone=n % 5 == 0) for n in range(40)))
    assert not running


async def test_a_database_that_is_away_is_no_try_of_any_job(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        raise LedgerUnavailable("the database does not answer")

    async with queue(database_url) as opened:
        assert await Worker(opened, RUN, work).step() == 3
    assert states(admin) == {"queued": 3}
    assert tries(admin, RUN) == {0}


class Waiting(Queue):
    """A queue whose claim is answered late."""

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        jobs = await super().claim(job_type, most, worker)
        await asyncio.sleep(0.3)
        return jobs


async def test_a_worker_told_to_stop_while_it_claims_hands_back_what_came(
    entities: list[UUID], admin: Admin, database_url: str
) -> None:
    await enqueue(database_url, entities)
    async with queue(database_url, make=Waiting) as opened:
        working = asyncio.create_task(Worker(opened, RUN, do_well).run())
        while states(admin) != {"running": 3}:
            await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert states(admin) == {"queued": 3}


async def test_a_server_that_stops_like_a_power_cut_loses_no_job_and_repeats_no_fact() -> None:
    """Claims need not wait for the disk: one that is lost is a token that nobody knows."""
    with tempfile.TemporaryDirectory(prefix="foja-test-") as folder:
        url = (server := start(Path(folder))).url
        try:
            await migrate(url)
            with psycopg.connect(url, autocommit=True) as admin:
                install(admin)
                admin.execute("update foja.job_type set lease = '1 s'")
                entities = ask(admin, *[new_id() for _ in range(10)])
            async with queue(url) as opened:
                await opened.enqueue([wanted(entities[n % 10], str(n)) for n in range(400)], "default")
                working = asyncio.create_task(Worker(opened, RUN, slowly_well, most=20).run())
                with psycopg.connect(url, autocommit=True) as admin:
                    while not states(admin).get("succeeded"):
                        await asyncio.sleep(0.01)
                stop(server, mode="immediate")
                server = start(Path(folder))
                with psycopg.connect(url, autocommit=True) as admin:
                    assert 0 < states(admin)["succeeded"] < 400
                    while states(admin) != {"succeeded": 400}:
                        assert not working.done()
                        await asyncio.sleep(0.1)
                    assert tries(admin, RUN) == {1}
                    facts = [kind for entity in entities for kind in kinds(admin, entity)]
                    assert facts.count("errand.done") == 400
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
        finally:
            stop(Path(folder), mode="immediate")


async def slowly_well(jobs: Sequence[Job]) -> Sequence[Outcome]:
    await asyncio.sleep(0.02)
    return await do_well(jobs)
