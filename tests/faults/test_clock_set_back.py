"""The database's clock was ahead and was set back: what waits for its times runs again by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from foja.app import App
from foja.observe.audit import audit
from foja.observe.findings import CheckReport
from tests.database.test_way_back import claim, fail
from tests.job_domain import ERRAND, RUN, ask, do_well

Admin = psycopg.Connection[Any]
ROLE = "foja_run_errand"
SET_BACK = """update foja.job set created_at = created_at + interval '2 hours',
    run_at = run_at + interval '2 hours', lease_until = lease_until + interval '2 hours'
    where type = 'run_errand'"""


async def check(app: App, **more: int) -> CheckReport:
    return await audit(app.settings.database_url, max_lag_seconds=3600, **more)


async def test_jobs_of_a_clock_that_was_ahead_are_found_and_run_by_themselves(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """1,153 findings stood until each job was retried by its id, and 100 of them were shown."""
    async with open_app(domains=[ERRAND]) as app:
        [stream] = ask(admin)
        for number in range(110):
            await app.jobs.enqueue(RUN, stream, key=str(number))
        await app.jobs.enqueue(RUN, stream, key="later", delay=86_400)
        fail(admin, RUN, ROLE, permanent=False)
        claim(admin, RUN, ROLE)
        admin.execute(SET_BACK)  # as if all of this had been written by that clock
        admin.execute(
            "insert into foja.tick (name, type, every, due) values ('t', %s, '1 hour', now() + '3 hours')",
            [RUN],
        )
        found = await check(app)
        assert (found.total, len(found.findings)) == (112, 100)
        assert len((await check(app, most=1000)).findings) == 112
        admin.execute("set role foja_sweeper")
        assert admin.execute("select foja.correct_times_v1()").fetchone() == (111,)
        admin.execute("select foja.run_ticks_v1()")
        admin.execute("reset role")
        assert (await check(app)).total == 0
        admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")
        app.workers.add(RUN, do_well)
        await app.work(until_idle=True)
        states = admin.execute(
            "select state, count(*) from foja.job where entity_id = %s and type = %s group by 1",
            [stream, RUN],
        )
        assert dict(states.fetchall()) == {"succeeded": 110, "queued": 1}
        [waits] = await app.jobs.list(job_type=RUN, state="queued")
        assert waits.key == "later"


async def test_a_timestamp_job_that_names_no_attempt_fails_for_good(app: App, admin: Admin) -> None:
    """Each of its tries was a traceback."""
    document = await app.documents.add(b"a contract", name="contract.txt")
    await app.jobs.enqueue("run_tsa", document.id, key="k")
    await app.work(until_idle=True)
    [job] = await app.jobs.list(job_type="run_tsa")
    assert (job.state, job.tries, job.last_error) == (
        "dead",
        1,
        "its job names no attempt for a SHA-256 digest",
    )


async def test_two_lost_workers_do_not_end_a_job_of_two_tries(
    admin: Admin, open_app: Callable[..., App]
) -> None:
    """Two kills ended a rendering as dead, although none of its tries had failed."""
    async with open_app(domains=[ERRAND]) as app:
        [stream] = ask(admin)
        await app.jobs.enqueue(RUN, stream, key="k")
        admin.execute("update foja.job set max_tries = 2 where type = %s", [RUN])
        for tries in (1, 1, 2):
            claim(admin, RUN, ROLE)
            assert (await app.jobs.list(job_type=RUN))[0].tries == tries
            admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")
        await app.work(until_idle=True, only=[])
        assert (await app.jobs.list(job_type=RUN))[0].state == "dead"
