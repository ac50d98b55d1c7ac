"""Whoever else has an executor in hand: what woke it is not forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import LiteralString
from uuid import UUID

import psycopg
import pytest

from foja.engine.driver.database import Database
from foja.engine.jobs.encoding import Settled
from foja.engine.jobs.outcome import Done, Job, Outcome, Settlement
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.sweeper import sweep_jobs
from foja.engine.jobs.worker import Worker
from foja.engine.ledger.event import draft
from foja.engine.sql import query
from foja.errors import Unavailable
from tests.database.documents.papers import acting
from tests.job_domain import DECIDE, DECIDER, ERRAND, Admin, ask, install, kinds, queue

COMPLETE: LiteralString = "select foja.complete_job_v1(%s, %s, read => %s)"
CANCEL: LiteralString = "select foja.cancel_jobs_v1(array[%s::bigint])"
RETRY: LiteralString = "select foja.retry_jobs_v1(array[%s::bigint])"
Hold = Callable[[Admin, Job, Job], None]


@pytest.fixture
async def decider(admin: Admin, database_url: str) -> AsyncIterator[Queue]:
    install(admin)
    async with queue(database_url, DECIDER) as opened:
        yield opened


async def read_all(decider: Queue, admin: Admin) -> list[Job]:
    """Let the executor look, and say that it saw everything."""
    jobs = await decider.claim(DECIDE, 10, "w")
    for job in jobs:
        assert await decider.settle([(job, Done(read=length(admin, job.entity_id)))]) == ["done"]
    return jobs


def length(admin: Admin, entity: UUID) -> int:
    row = admin.execute("select sealed from foja.entity where entity_id = %s", [entity]).fetchone()
    assert row is not None
    return int(row[0])


def sleepers(admin: Admin) -> list[tuple[object, ...]]:
    return admin.execute(query("audit_sleepers")).fetchall()


def settle_late(other: Admin, late: Job, last: Job) -> None:
    """Settle with a token that somebody else's replaced."""
    with acting(other, "foja_decide_errand"):
        assert other.execute(COMPLETE, [late.id, late.token, 1]).fetchone() == ("lost",)


def settle_twice(other: Admin, late: Job, last: Job) -> None:
    """Settle again, as if the answer had been lost."""
    with acting(other, "foja_decide_errand"):
        assert other.execute(COMPLETE, [last.id, last.token, 1]).fetchone() == ("already",)


def cancel(other: Admin, late: Job, last: Job) -> None:
    with acting(other, "service_role"):
        assert other.execute(CANCEL, [last.id]).fetchone() == (0,), "it is over"


def retry(other: Admin, late: Job, last: Job) -> None:
    with acting(other, "service_role"):
        assert other.execute(RETRY, [last.id]).fetchone() == (1,)


def lock(other: Admin, late: Job, last: Job) -> None:
    other.execute("select from foja.job where job_id = %s for update", [last.id])


@pytest.mark.parametrize("hold", [settle_late, settle_twice, cancel, retry, lock])
@pytest.mark.parametrize("ends", ["commit", "rollback"])
async def test_an_executor_that_somebody_holds_is_woken_afterwards(
    hold: Hold, ends: str, decider: Queue, admin: Admin, database_url: str
) -> None:
    [entity] = ask(admin)
    [late] = await decider.claim(DECIDE, 10, "late")
    admin.execute("update foja.job set lease_until = now() - interval '1 s'")
    [last] = await read_all(decider, admin)
    assert last.token != late.token
    ask(admin, entity)
    with psycopg.connect(database_url) as other:
        hold(other, late, last)
        assert await decider.claim(DECIDE, 10, "w") == [], "a claim waits for nobody"
        assert sleepers(admin) == []
        getattr(other, ends)()
    assert [job.entity_id for job in await read_all(decider, admin)] == [entity]
    assert await read_all(decider, admin) == []
    assert admin.execute("select awake from foja.entity").fetchone() == (None,)
    ask(admin, entity)
    assert len(await read_all(decider, admin)) == 1


async def test_whoever_is_late_changes_nothing_of_the_stream(decider: Queue, admin: Admin) -> None:
    [entity] = ask(admin)
    [late] = await decider.claim(DECIDE, 10, "late")
    admin.execute("update foja.job set lease_until = now() - interval '1 s'")
    [last] = await read_all(decider, admin)
    ask(admin, entity)
    before = admin.execute("select * from foja.entity").fetchall()
    assert await decider.settle([(late, Done(read=1)), (last, Done(read=1))]) == ["lost", "already"]
    assert admin.execute("select * from foja.entity").fetchall() == before


async def put_to_sleep(decider: Queue, admin: Admin) -> int:
    """Lose a wake-up on purpose; return the executor's job."""
    [entity] = ask(admin)
    [job] = await read_all(decider, admin)
    ask(admin, entity)
    admin.execute("delete from foja.woken")
    admin.execute("update foja.entity set last_at = now() - interval '1 minute'")
    assert sleepers(admin) == [(entity, 1, "succeeded")]
    assert await decider.claim(DECIDE, 10, "w") == []
    return job.id


async def test_an_operator_can_wake_an_executor_that_sleeps(decider: Queue, admin: Admin) -> None:
    job = await put_to_sleep(decider, admin)
    with acting(admin, "service_role"):
        assert admin.execute(RETRY, [job]).fetchone() == (1,)
    assert sleepers(admin) == []
    assert len(await read_all(decider, admin)) == 1


@pytest.mark.parametrize("state", ["succeeded", "missing"])
async def test_the_sweeper_wakes_an_executor_that_sleeps(
    state: str, decider: Queue, admin: Admin, database_url: str
) -> None:
    await put_to_sleep(decider, admin)
    if state == "missing":
        admin.execute("delete from foja.job")
    sweeper = Database(database_url, "foja_sweeper", 1)
    assert await sweep_jobs(sweeper) == 1
    assert await sweep_jobs(sweeper) == 0
    await sweeper.close()
    assert sleepers(admin) == []
    assert len(await read_all(decider, admin)) == 1


async def test_an_executor_that_was_woken_meanwhile_still_knows_its_last_token(
    decider: Queue, admin: Admin
) -> None:
    """The first answer was lost: the second one says what happened, also when the stream grew since."""
    [entity] = ask(admin)
    [job] = await read_all(decider, admin)
    ask(admin, entity)
    admin.execute("select foja.queue_woken_v1()")
    assert await decider.settle([(job, Done(read=1))]) == ["already"]
    assert len(await read_all(decider, admin)) == 1


class Deaf(Queue):
    """Settles, and hears the answer only the second time; meanwhile somebody else is given the job."""

    admin: Admin
    deaf = True

    async def settle(self, settled: Settled) -> list[Settlement]:
        verdicts = await super().settle(settled)
        if not self.deaf:
            return verdicts
        self.deaf = False
        ask(self.admin, settled[0][0].entity_id)
        assert len(await self.claim(DECIDE, 10, "other")) == 1
        raise Unavailable("the answer is lost")


async def test_a_worker_does_not_say_that_nothing_was_recorded_when_it_was(
    admin: Admin, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(admin)
    [entity] = ask(admin)

    async def decide(jobs: Sequence[Job]) -> Sequence[Outcome]:
        said = draft(ERRAND, entity, "errand.decided", {"read": 1}, source=DECIDER, tenant="default")
        return [Done([said], read=1)]

    async with queue(database_url, DECIDER, Deaf) as deaf:
        assert isinstance(deaf, Deaf)
        deaf.admin = admin
        await Worker(deaf, DECIDE, decide).step()
    assert kinds(admin, entity) == ["errand.asked", "errand.decided", "errand.asked"]
    assert "the lease is another's" in caplog.text
    assert "nothing was recorded" not in caplog.text
