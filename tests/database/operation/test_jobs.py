"""The queue: asked once, claimed by one, settled with its facts, in order, and never for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

import psycopg
import pytest

from foja import errors
from foja.engine import tasks
from foja.engine.driver.database import Database
from foja.engine.jobs.heartbeat import Heartbeat
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewJob, Outcome, Retry, Snooze
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.sweeper import run_ticks, sweep_jobs
from foja.engine.jobs.worker import Worker
from tests.job_domain import (
    DECIDE,
    DECIDER,
    IN_ORDER,
    RUN,
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
async def errands(admin: Admin, database_url: str) -> AsyncIterator[Queue]:
    install(admin)
    async with queue(database_url) as opened:
        yield opened


@pytest.fixture
async def decider(errands: Queue, database_url: str) -> AsyncIterator[Queue]:
    async with queue(database_url, DECIDER) as opened:
        yield opened


@pytest.fixture
async def sweeper(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, "foja_sweeper", 2)
    yield database
    await database.close()


def expire(admin: Admin) -> None:
    """Let every lease be over, as after a while without a heartbeat."""
    admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")


def run_now(admin: Admin) -> None:
    admin.execute("update foja.job set run_at = now() where state in ('queued', 'retry_scheduled')")


async def test_a_job_is_done_once_with_its_fact(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    assert await errands.enqueue([wanted(entity, "a"), wanted(entity, "b")], "default") == 2
    await Worker(errands, RUN, do_well).run(until_idle=True)
    assert states(admin) == {"succeeded": 2}
    assert kinds(admin, entity) == ["errand.asked", "errand.done", "errand.done"]


async def test_what_was_asked_for_is_not_asked_for_again(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    assert await errands.enqueue([wanted(entity, "a")], "default") == 1
    assert (
        await errands.enqueue([wanted(entity, "a"), wanted(entity, "b"), wanted(entity, "b")], "default") == 1
    )
    await Worker(errands, RUN, do_well).run(until_idle=True)
    assert await errands.enqueue([wanted(entity, "a")], "default") == 0, "also when it is done"
    assert states(admin) == {"succeeded": 2}


async def test_a_job_of_an_unknown_type_is_refused(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    with pytest.raises(errors.UnknownJob):
        await errands.enqueue([NewJob("shrug", entity, "a")], "default")
    with pytest.raises(errors.UnknownJob):
        await errands.enqueue([NewJob(DECIDE, entity, "a")], "default")
    with pytest.raises(errors.BadPayload, match="0, 1 or 2"):
        await errands.enqueue([wanted(entity, "a", priority=3)], "default")
    with pytest.raises(errors.UnknownEntity, match="need a stream"):
        await errands.enqueue([wanted(uuid4(), "a", IN_ORDER)], "default")


async def test_facts_and_following_jobs_come_with_the_end_of_the_job_or_not_at_all(
    errands: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, "a"), wanted(entity, "b")], "default")
    good, bad = await errands.claim(RUN, 10, "w")
    wrong = fact(bad, expected_seq=77)
    with pytest.raises(errors.WrongExpectedSeq):
        await errands.settle([(good, Done([fact(good)], [wanted(entity, "c")])), (bad, Done([wrong]))])
    assert states(admin) == {"running": 2}
    assert kinds(admin, entity) == ["errand.asked"]
    assert await errands.settle([(good, Done([fact(good)], [wanted(entity, "c")]))]) == ["done"]
    assert states(admin) == {"running": 1, "succeeded": 1, "queued": 1}


async def test_whoever_lost_the_lease_changes_nothing_and_is_told(errands: Queue, admin: Admin) -> None:
    first, second = [*ask(admin), *ask(admin)]
    await errands.enqueue([wanted(first, "a"), wanted(second, "b")], "default")
    late = await errands.claim(RUN, 10, "late")
    admin.execute("update foja.job set lease_until = now() - interval '1 s' where dedupe_key = 'a'")
    [taken] = await errands.claim(RUN, 10, "next")
    assert (taken.key, taken.alone) == ("a", True)
    ends: list[tuple[Job, Outcome]] = [
        (job, Done([fact(job)], [wanted(first, f"{job.key}!")])) for job in late
    ]
    assert await errands.settle(ends) == ["lost", "done"]
    assert kinds(admin, first) == ["errand.asked"]
    assert kinds(admin, second) == ["errand.asked", "errand.done"]
    assert admin.execute("select count(*) from foja.job where dedupe_key = 'a!'").fetchone() == (0,)
    for end in (Retry("late"), GiveUp("late"), Snooze(9)):
        assert await errands.settle([(late[0], end)]) == ["lost"]
    assert await errands.settle([(taken, Done([fact(taken)]))]) == ["done"]
    assert kinds(admin, first) == ["errand.asked", "errand.done"]


async def test_settling_twice_is_settling_once(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, key) for key in "abcd"], "default")
    jobs = await errands.claim(RUN, 10, "w")
    ends: list[Outcome] = [Done([fact(jobs[0])]), Retry("x"), GiveUp("y"), Snooze(50)]
    settled = list(zip(jobs, ends, strict=True))
    assert await errands.settle(settled) == ["done", "retry", "give_up", "snooze"]
    before = admin.execute("select * from foja.job order by job_id").fetchall()
    assert await errands.settle(settled) == ["already"] * 4
    assert admin.execute("select * from foja.job order by job_id").fetchall() == before
    assert kinds(admin, entity) == ["errand.asked", "errand.done", "errand.failed"]


async def test_a_failed_job_is_tried_again_and_dies_with_its_last_words(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, "a")], "default")
    tries: list[int] = []

    async def fail(jobs: Sequence[Job]) -> Sequence[Outcome]:
        tries.extend(job.tries for job in jobs)
        raise RuntimeError("no milk")

    worker = Worker(errands, RUN, fail)
    for _ in range(5):
        await worker.run(until_idle=True)
        run_now(admin)
    assert tries == [1, 2, 3]
    row = admin.execute("select state, tries, last_error from foja.job where type = 'run_errand'").fetchone()
    assert row == ("dead", 3, "RuntimeError: no milk")
    assert kinds(admin, entity) == ["errand.asked", "errand.failed"]


async def test_waits_grow_and_differ(errands: Queue, admin: Admin) -> None:
    admin.execute("update foja.job_type set max_tries = 20, backoff = '10 s', backoff_most = '100 s'")
    entities = [ask(admin)[0] for _ in range(20)]
    await errands.enqueue([wanted(entity, str(entity)) for entity in entities], "default")
    waits = []
    for _ in range(6):
        jobs = await errands.claim(RUN, 100, "w")
        assert len(jobs) == 20
        await errands.settle([(job, Retry("x")) for job in jobs])
        waits.append(
            [
                s
                for (s,) in admin.execute(
                    "select extract(epoch from run_at - now()) from foja.job where type = 'run_errand'"
                )
            ]
        )
        run_now(admin)
    for n, wait in enumerate(waits):
        most = min(100, 10 * 2**n)
        assert all(most * 0.49 < seconds <= most for seconds in wait)
        assert len(set(wait)) > 10


async def test_giving_up_needs_no_more_tries_and_may_say_it_in_other_words(
    errands: Queue, admin: Admin
) -> None:
    one, two = [*ask(admin), *ask(admin)]
    await errands.enqueue([wanted(one, "a"), wanted(two, "b")], "default")
    first, second = await errands.claim(RUN, 10, "w")
    assert (
        await errands.settle([(first, GiveUp("x")), (second, GiveUp("y", [fact(second)]))]) == ["give_up"] * 2
    )
    assert kinds(admin, one)[1:] == ["errand.failed"]
    assert kinds(admin, two)[1:] == ["errand.done"]
    assert states(admin) == {"dead": 2}
    for job in (first, second):  # both streams know how it ended: doing it again would be in vain
        with pytest.raises(psycopg.Error, match="job_is_over"):
            admin.execute("select foja.retry_jobs_v1(array[%s::bigint])", [job.id])
    assert admin.execute("select count(*) from foja.job where state = 'dead' and not silent").fetchone() == (
        0,
    )


async def test_last_words_that_the_stream_refuses_do_not_keep_the_job_alive(
    errands: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    said_too_little = {"kind": "errand.failed", "payload": {}}
    await errands.enqueue([NewJob(RUN, entity, "a", on_death=said_too_little)], "default")
    [job] = await errands.claim(RUN, 1, "w")
    assert await errands.settle([(job, GiveUp("x"))]) == ["give_up"]
    row = admin.execute("select state, last_error from foja.job where type = 'run_errand'").fetchone()
    assert row is not None
    assert row[0] == "dead"
    assert "its on_death event was refused" in row[1]


async def test_a_snooze_is_no_try(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, "a")], "default")
    for _ in range(10):
        [job] = await errands.claim(RUN, 1, "w")
        assert job.tries == 1
        assert await errands.settle([(job, Snooze(60))]) == ["snooze"]
        assert await errands.claim(RUN, 1, "w") == []
        run_now(admin)


@pytest.mark.parametrize("rests", [True, False])
async def test_a_worker_that_rests_does_not_claim_what_would_have_to_wait_too(
    errands: Queue, admin: Admin, monkeypatch: pytest.MonkeyPatch, rests: bool
) -> None:
    """Builders of artifacts claimed each job twice in vain while no checkpoint covered any."""
    monkeypatch.setattr("foja.engine.jobs.worker.POLL_SECONDS", 60.0)
    claimed: list[int] = []

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        claimed.append(len(jobs))
        return [Snooze(60)] * len(jobs)

    await errands.enqueue([wanted(entity, "a") for _ in range(6) for entity in ask(admin)], "default")
    working = asyncio.create_task(Worker(errands, RUN, work, most=2, rests=rests).run())
    async with asyncio.timeout(60):
        while len(claimed) < (1 if rests else 3):
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    await tasks.end([working])
    assert claimed == ([2] if rests else [2, 2, 2])


async def test_a_worker_that_rests_does_not_do_so_until_idle(
    errands: Queue, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foja.engine.jobs.worker.POLL_SECONDS", 3600.0)

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        return [Snooze(3600)] * len(jobs)

    await errands.enqueue([wanted(entity, "a") for _ in range(2) for entity in ask(admin)], "default")
    async with asyncio.timeout(60):
        await Worker(errands, RUN, work, most=1, rests=True).run(until_idle=True)
    assert states(admin) == {"queued": 2}


async def test_jobs_of_one_stream_run_in_order_one_at_a_time(errands: Queue, admin: Admin) -> None:
    one, two = [*ask(admin), *ask(admin)]
    await errands.enqueue([wanted(one, f"one {n}", IN_ORDER) for n in range(3)], "default")
    await errands.enqueue([wanted(two, f"two {n}", IN_ORDER) for n in range(2)], "default")
    claimed = []
    while jobs := await errands.claim(IN_ORDER, 10, "w"):
        claimed.append([job.key for job in jobs])
        assert await errands.claim(IN_ORDER, 10, "other") == []
        await errands.settle([(job, Done()) for job in jobs])
    assert claimed == [["one 0", "two 0"], ["one 1", "two 1"], ["one 2"]]


async def test_a_line_moves_on_after_a_death_and_a_cancellation_and_stops_for_a_retry(
    errands: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, str(n), IN_ORDER, on_death=None) for n in range(4)], "default")
    [zero] = await errands.claim(IN_ORDER, 10, "w")
    await errands.settle([(zero, Retry("x", after=60))])
    assert await errands.claim(IN_ORDER, 10, "w") == []
    run_now(admin)
    [zero] = await errands.claim(IN_ORDER, 10, "w")
    await errands.settle([(zero, GiveUp("x"))])
    [one] = await errands.claim(IN_ORDER, 10, "w")
    admin.execute("select foja.cancel_jobs_v1(array[%s::bigint])", [one.id])
    assert await errands.settle([(one, Done([fact(one)]))]) == ["lost"]
    [two] = await errands.claim(IN_ORDER, 10, "w")
    assert two.key == "2"
    admin.execute("select foja.retry_jobs_v1(array[%s::bigint])", [zero.id])
    assert await errands.claim(IN_ORDER, 10, "w") == [], "the dead one waits for its turn"
    await errands.settle([(two, Done())])
    [zero] = await errands.claim(IN_ORDER, 10, "w")
    assert (zero.key, zero.tries) == ("0", 1)


async def test_urgent_jobs_come_first_and_later_ones_later(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    late = [wanted(entity, f"later {n}", delay=60.0, priority=n) for n in range(3)]
    now = [wanted(entity, f"{n}", priority=n) for n in (2, 1, 0)]
    await errands.enqueue([*late, *now], "default")
    assert [job.key for job in await errands.claim(RUN, 2, "w")] == ["0", "1"]
    assert [job.key for job in await errands.claim(RUN, 2, "w")] == ["2"]


async def test_a_paused_type_is_not_claimed(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, "a")], "default")
    admin.execute("select foja.pause_jobs_v1('run_errand')")
    assert await errands.claim(RUN, 1, "w") == []
    admin.execute("select foja.resume_jobs_v1('run_errand')")
    assert len(await errands.claim(RUN, 1, "w")) == 1


async def test_a_job_that_kills_its_worker_dies_alone(
    errands: Queue, sweeper: Database, admin: Admin
) -> None:
    """Its neighbours lose no try: the claim in company counts for nobody."""
    entities = [ask(admin)[0] for _ in range(5)]
    await errands.enqueue([wanted(entity, str(n)) for n, entity in enumerate(entities)], "default")
    assert len(await errands.claim(RUN, 10, "killed")) == 5
    for _ in range(20):
        expire(admin)
        await sweep_jobs(sweeper)
        jobs = await errands.claim(RUN, 10, "w")
        if not jobs:
            break
        [job] = jobs
        assert job.alone
        if job.key != "3":
            assert job.tries == 1
            assert await errands.settle([(job, Done([fact(job)]))]) == ["done"]
    assert states(admin) == {"succeeded": 4, "dead": 1}
    rows = admin.execute(
        "select dedupe_key, tries from foja.job where type = 'run_errand' order by 1"
    ).fetchall()
    assert rows == [("0", 1), ("1", 1), ("2", 1), ("3", 3), ("4", 1)]
    assert kinds(admin, entities[3]) == ["errand.asked", "errand.failed"]
    source = admin.execute("select source from foja.event where kind = 'errand.failed'").fetchone()
    assert source == ("sweeper",)


async def test_a_heartbeat_keeps_what_is_ours_and_nothing_else(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, key) for key in "abc"], "default")
    kept, lost, done = await errands.claim(RUN, 10, "w")
    await errands.settle([(done, Done())])
    admin.execute(
        """update foja.job set lease_until = now() - interval '1 s', lease_token = gen_random_uuid()
        where job_id = %s""",
        [lost.id],
    )
    heartbeat = Heartbeat(errands.database)
    assert await heartbeat.beat([kept, lost, done]) == {kept.id}
    heartbeat.close()
    rows = admin.execute(
        "select lease_until > now() from foja.job where job_id = any (%s) order by job_id",
        [[kept.id, lost.id]],
    )
    assert rows.fetchall() == [(True,), (False,)]


async def test_only_the_role_of_a_type_may_do_it(errands: Queue, decider: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, "a")], "default")
    with pytest.raises(errors.WrongSource):
        await decider.claim(RUN, 1, "w")
    [job] = await errands.claim(RUN, 1, "w")
    with pytest.raises(errors.WrongSource):
        await decider.settle([(job, Done())])
    admin.execute("set role foja_run_errand")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        admin.execute("update foja.job set state = 'succeeded'")
    admin.execute("reset role")


async def test_another_correlation_is_corrected_and_counted(errands: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    admin.execute(
        "select foja.enqueue_job_v1('run_errand', %s, 'a', correlation_id => %s)", [entity, uuid4()]
    )
    [job] = await errands.claim(RUN, 1, "w")
    assert job.corrected
    row = admin.execute(
        "select correlation_id, corrected from foja.job where job_id = %s", [job.id]
    ).fetchone()
    assert row == (entity, True)


async def test_a_tick_queues_one_job_per_slot(errands: Queue, sweeper: Database, admin: Admin) -> None:
    admin.execute("select foja.recognise()")
    admin.execute("insert into foja.tick (name, type, every) values ('milk', 'run_errand', '1 hour')")
    assert await run_ticks(sweeper) == 1
    assert await run_ticks(sweeper) == 0
    admin.execute("update foja.tick set due = now() - interval '5 hours'")
    assert await run_ticks(sweeper) == 0, "this hour has its job"
    [job] = await errands.claim(RUN, 10, "w")
    assert job.key.startswith("milk:")
    installation = admin.execute("select installation_id from foja.installation").fetchone()
    assert installation == (job.entity_id,)


async def test_a_hint_wakes_a_worker_of_another_process_long_before_it_would_look(
    errands: Queue, decider: Queue, admin: Admin, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for a job, and told by a fact that its domain grew."""
    monkeypatch.setattr("foja.engine.jobs.worker.POLL_SECONDS", 60.0)
    [entity] = ask(admin)

    async def decide(jobs: Sequence[Job]) -> Sequence[Outcome]:
        rows = await decider.database.rows(
            "select sealed from foja.entity where entity_id = %(id)s", id=jobs[0].entity_id
        )
        return [Done(read=rows[0][0])]

    async with queue(database_url) as elsewhere:
        workers = [Worker(errands, RUN, do_well), Worker(decider, DECIDE, decide, wake_on=["errand"])]
        working = [asyncio.create_task(worker.run()) for worker in workers]
        async with asyncio.timeout(30):
            while states(admin, DECIDE) != {"succeeded": 1}:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)  # both have found nothing, and wait
            await elsewhere.enqueue([wanted(entity, "a")], "default")
            while kinds(admin, entity) != ["errand.asked", "errand.done"]:
                await asyncio.sleep(0.02)
            while states(admin, DECIDE) != {"succeeded": 1}:
                await asyncio.sleep(0.02)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def test_a_fact_that_is_there_already_ends_the_job_and_another_under_its_key_does_not(
    errands: Queue, admin: Admin
) -> None:
    [entity] = ask(admin)
    await errands.enqueue([wanted(entity, key) for key in "abc"], "default")

    async def work(jobs: Sequence[Job]) -> Sequence[Outcome]:
        return [Done([fact(job, 2 if job.key == "c" else 1, idempotency_key="once")]) for job in jobs]

    await Worker(errands, RUN, work).run(until_idle=True)
    rows = admin.execute(
        "select dedupe_key, state from foja.job where type = 'run_errand' order by dedupe_key"
    ).fetchall()
    assert rows == [("a", "succeeded"), ("b", "succeeded"), ("c", "dead")]
    assert kinds(admin, entity) == ["errand.asked", "errand.done", "errand.failed"]
    error = admin.execute("select last_error from foja.job where state = 'dead'").fetchone()
    assert error is not None
    assert "its result was refused" in error[0]
