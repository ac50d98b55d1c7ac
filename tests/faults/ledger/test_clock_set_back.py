"""The database's clock was ahead and was set back: what waits for its times runs again by itself."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import foja
from foja.app import App
from foja.engine.observe.audit import audit
from foja.engine.observe.findings import CheckReport
from foja.errors import Unavailable
from foja.pure.models.health.part import State
from tests.database.operation.test_alerts import Recorded
from tests.database.schema.test_way_back import claim, fail
from tests.faults.ledger.replicated import Server, running_server
from tests.flow.client.client import SAY
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


@dataclass
class FakeClock:
    """The clock of a server, which runs under faketime."""

    server: Server
    file: Path

    def set(self, shift: str) -> None:
        self.file.write_text(f"{shift}\n")


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None or shutil.which("faketime") is None:
        pytest.skip("faketime is not installed")
    with running_server() as server:
        server.stop()
        clock = FakeClock(server, server.folder / "clock")
        clock.set("+2h")
        clock.file.chmod(0o644)
        with monkeypatch.context() as during:
            during.setenv("LD_PRELOAD", str(library))
            during.setenv("FAKETIME_TIMESTAMP_FILE", str(clock.file))
            during.setenv("FAKETIME_NO_CACHE", "1")
            during.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            server.start()
        yield clock


async def until(ask: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(120):
        while not await ask():
            await asyncio.sleep(0.2)


@pytest.mark.timeout(300)
async def test_a_server_whose_clock_is_set_back_goes_on_by_itself(clock: FakeClock, tmp_path: Path) -> None:
    """For two hours no part failed, a dead worker counted as running, notices waited, and a hole as well."""
    more: dict[str, Any] = {"domains": [ERRAND], "health_seconds": 1.0, "metrics_cache_seconds": 0.0}
    async with foja.connect(database_url=clock.server.url, home=tmp_path / "home", **more) as app:
        with psycopg.connect(clock.server.url, autocommit=True) as admin:
            [stream] = ask(admin)
            await app.jobs.enqueue(RUN, stream, key="k")
            await app.work(until_idle=True)
            conversation = await app.conversations.open()
            held = await conversation.reserve(1, ttl=3_600)
            await conversation.append(SAY, {"content": "above the hole"})
            dead = asyncio.create_task(app.work(only=["run_tsa"]))
            await until(lambda: _exists(admin, "select from foja.worker"))
            announced = admin.execute(
                "select worker_id, name, types, tenant, seen_at from foja.worker"
            ).fetchone()
            dead.cancel()
            await asyncio.gather(dead, return_exceptions=True)
            assert announced
            # As after kill -9: it could not take back what it had announced.
            admin.execute("insert into foja.worker values (%s, %s, %s, %s, %s)", announced)
            app.health.report("store:write")
            await app.health.write(everything=True)
            await app.jobs.pause("run_tsa")
            app.alerts.channels = [hook := Recorded(away=True)]
            await app.alerts.evaluate()
            await app.jobs.resume("run_tsa")
            clock.set("+0")
            hook.away = False
            assert await app.alerts.deliver()
            assert ("fired", "part_failing", "job:run_tsa") in hook.said

            document = await app.documents.add(b"a contract")
            await app.documents.protect(document.id)
            await app.work(until_idle=True, only=["protect_document_v2"])
            assert "run_tsa" in {each.type for each in await app.jobs.unhandled()}
            app.health.report("store:write", Unavailable("it is read-only"))
            await app.health.write(everything=True)
            [store] = [each for each in await app.health.read() if each.name == "store:write"]
            assert (store.state, store.error) == (State.FAILING, "it is read-only")
            app.workers.add(RUN, do_well)
            await app.work(until_idle=True)
            [job] = await app.jobs.list(job_type=RUN)
            assert job.state == "succeeded"
            row = admin.execute(
                "select extract(epoch from deadline - clock_timestamp()) from foja.slot where state = 'open'"
            ).fetchone()
            assert row
            assert row[0] <= 3_600
            await held.fill(held.seqs[0], SAY, {"content": "it is filled"})


async def _exists(admin: Admin, statement: Any) -> bool:
    return bool(admin.execute(statement).fetchall())
