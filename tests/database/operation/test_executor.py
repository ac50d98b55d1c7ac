"""A level-triggered executor: whatever is appended, however, it looks again until it has seen everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import psycopg
import pytest

from foja.engine.jobs.outcome import Done, GiveUp, Job, Outcome, Retry, Snooze
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft, new_id
from tests.job_domain import (
    DECIDE,
    DECIDER,
    ERRAND,
    RUN,
    Admin,
    ask,
    do_well,
    install,
    kinds,
    queue,
    states,
    wanted,
)

ASK = b"select foja.append_event(%s, 'errand', 'errand.asked', '{\"what\": \"milk\"}')"


@pytest.fixture
async def decider(admin: Admin, database_url: str) -> AsyncIterator[Queue]:
    install(admin)
    async with queue(database_url, DECIDER) as opened:
        yield opened


async def sealed(decider: Queue, job: Job) -> int:
    row = await decider.database.row(
        "select sealed from foja.entity where entity_id = %(id)s", id=job.entity_id
    )
    assert row is not None
    return int(row[0])


def decision(job: Job, read: int) -> Done:
    """Say once up to where the stream was read, and ask for an errand."""
    said = {"read": read}
    event = draft(
        ERRAND, job.entity_id, "errand.decided", said, source=DECIDER, expected_seq=read, tenant="default"
    )
    return Done([event], [wanted(job.entity_id, f"{RUN}:{job.entity_id}:{read}")], read=read)


async def decide(decider: Queue) -> list[str]:
    """Do what an executor does, once."""
    jobs = await decider.claim(DECIDE, 100, "w")
    ends: list[tuple[Job, Outcome]] = [(job, decision(job, await sealed(decider, job))) for job in jobs]
    return [str(verdict) for verdict in await decider.settle(ends)]


def last_read(admin: Admin, entity: UUID) -> int:
    row = admin.execute(
        """select max((payload ->> 'read')::int) from foja.event
        where entity_id = %s and kind = 'errand.decided'""",
        [entity],
    ).fetchone()
    assert row is not None
    return int(row[0])


async def test_an_append_from_psql_queues_the_executor_once(decider: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    ask(admin, entity)
    assert states(admin, DECIDE) == {"queued": 1}
    assert await decide(decider) == ["done"]
    assert kinds(admin, entity) == ["errand.asked", "errand.asked", "errand.decided"]
    assert states(admin) == {"queued": 1}
    assert await decide(decider) == [], "it has seen everything"
    ask(admin, entity)
    assert states(admin, DECIDE) == {"queued": 1}
    assert await decide(decider) == ["done"]
    assert last_read(admin, entity) == 4


async def test_an_append_that_is_uncommitted_while_the_executor_runs_is_seen(
    decider: Queue, admin: Admin, database_url: str
) -> None:
    [entity] = ask(admin)
    with psycopg.connect(database_url) as other:
        [job] = await decider.claim(DECIDE, 1, "w")
        read = await sealed(decider, job)
        other.execute(ASK, [entity])  # not committed; the executor has read without it
        settling = asyncio.create_task(decider.settle([(job, decision(job, read))]))
        await asyncio.sleep(0.2)
        assert not settling.done(), "it waits for the stream"
        other.commit()
        assert await settling == ["again"]
    assert kinds(admin, entity) == ["errand.asked"] * 2, "what was decided on less is not recorded"
    assert await decide(decider) == ["done"]
    assert last_read(admin, entity) == 2


async def test_two_waking_events_in_one_transaction_are_seen(decider: Queue, admin: Admin) -> None:
    entity = new_id()
    with admin.transaction():
        admin.execute(ASK, [entity])
        admin.execute(ASK, [entity])
    assert await decide(decider) == ["done"]
    assert last_read(admin, entity) == 2
    ask(admin, entity)
    [job] = await decider.claim(DECIDE, 1, "w")
    read = await sealed(decider, job)
    with admin.transaction():
        admin.execute(ASK, [entity])
        admin.execute(ASK, [entity])
    assert await decider.settle([(job, decision(job, read))]) == ["again"]
    assert await decide(decider) == ["done"]
    assert last_read(admin, entity) == 6


async def test_an_append_between_claim_and_read_costs_one_more_look_at_most(
    decider: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    [job] = await decider.claim(DECIDE, 1, "w")
    ask(admin, entity)
    assert await decider.settle([(job, decision(job, await sealed(decider, job)))]) == ["done"]
    assert await decide(decider) == []
    assert last_read(admin, entity) == 2


async def test_a_dead_executor_is_queued_by_the_next_append_with_fresh_tries(
    decider: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    [job] = await decider.claim(DECIDE, 1, "w")
    assert await decider.settle([(job, GiveUp("no idea"))]) == ["give_up"]
    assert states(admin, DECIDE) == {"dead": 1}
    ask(admin, entity)
    [job] = await decider.claim(DECIDE, 1, "w")
    assert job.tries == 1
    assert await decider.settle([(job, decision(job, 2))]) == ["done"]


async def test_a_cancelled_or_dead_executor_can_be_asked_to_look_again(decider: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    assert states(admin, DECIDE) == {"queued": 1}
    admin.execute("select foja.cancel_jobs_v1(array(select job_id from foja.job))")
    assert await decide(decider) == []
    ask(admin, entity)
    [job] = await decider.claim(DECIDE, 1, "w")
    await decider.settle([(job, GiveUp("no idea"))])
    admin.execute("select foja.retry_jobs_v1(array(select job_id from foja.job))")
    assert await decide(decider) == ["done"]
    ask(admin, entity)
    assert await decide(decider) == ["done"]


async def test_a_snoozing_executor_is_woken(decider: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    [job] = await decider.claim(DECIDE, 1, "w")
    assert await decider.settle([(job, Snooze(600))]) == ["snooze"]
    assert await decide(decider) == []
    ask(admin, entity)
    assert await decide(decider) == ["done"]


async def test_an_append_while_a_retry_is_scheduled_is_seen_by_the_retry(
    decider: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    [job] = await decider.claim(DECIDE, 1, "w")
    assert await decider.settle([(job, Retry("x", after=0.0))]) == ["retry"]
    ask(admin, entity)
    assert await decide(decider) == ["done"]
    assert last_read(admin, entity) == 2
    ask(admin, entity)
    assert await decide(decider) == ["done"]


async def test_facts_of_workers_wake_the_executor(decider: Queue, admin: Admin, database_url: str) -> None:
    [entity] = ask(admin)
    assert await decide(decider) == ["done"]
    async with queue(database_url) as errands:
        await Worker(errands, RUN, do_well).run(until_idle=True)
    assert states(admin, DECIDE) == {"queued": 1}
    assert await decide(decider) == ["done"]
    assert kinds(admin, entity)[-2:] == ["errand.done", "errand.decided"]


async def test_no_wake_up_is_lost_under_load(decider: Queue, admin: Admin, database_url: str) -> None:
    """Appends one by one and in transactions of two, while executors look: each ends having seen all."""
    entities = [ask(admin)[0] for _ in range(4)]
    writing = True

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        return [decision(job, await sealed(decider, job)) for job in jobs]

    async def executor() -> None:
        worker = Worker(decider, DECIDE, work, most=2)
        while writing or await worker.step():
            await worker.step()

    async def writer(n: int) -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as conn:
            for turn in range(60):
                for _ in range(1 + turn % 2):
                    await conn.execute(ASK, [entities[(turn + n) % 4]])
                await conn.commit()

    looking = [asyncio.create_task(executor()) for _ in range(2)]
    await asyncio.gather(*map(writer, range(3)))
    writing = False
    await asyncio.gather(*looking)
    assert states(admin, DECIDE) == {"succeeded": 4}
    for entity in entities:
        said = kinds(admin, entity)
        assert said[-1] == "errand.decided", "somebody looked after the last append"
        assert last_read(admin, entity) == len(said) - 1
