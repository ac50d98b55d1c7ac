"""Job types that no running worker does: who does them is announced, and what waits is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from prometheus_client import REGISTRY

from foja.app import App
from foja.engine.jobs import announcement
from foja.engine.jobs.announcement import find_unhandled
from foja.engine.jobs.outcome import Done, Job, Outcome
from foja.engine.observe.metrics.gauges import gauge_jobs
from foja.engine.settings import Settings
from foja.interfaces.cli.services import in_background
from foja.pure.core.registry import Domain, JobType, Kind
from foja.pure.models.documents.view import EXECUTOR_JOB
from tests.processes import begin

PARCEL = Domain(
    "parcel",
    [Kind("parcel.packed"), Kind("parcel.sent", {"carrier"}, {"to": "string"})],
    jobs=[JobType("send_parcel", "carrier")],
)
SETTLE_SECONDS = 30.0


async def send(jobs: Sequence[Job]) -> Sequence[Outcome]:
    return [Done() for _ in jobs]


async def pack(app: App) -> UUID:
    stream = await app.streams(PARCEL).open()
    await stream.append("parcel.packed", {})
    await app.jobs.enqueue("send_parcel", stream.id, key="send")
    return stream.id


async def unhandled(app: App) -> dict[str, int]:
    return {each.type: each.jobs for each in await find_unhandled(app.sweeper)}


async def becomes(app: App, expected: dict[str, int]) -> None:
    async with asyncio.timeout(SETTLE_SECONDS):
        while await unhandled(app) != expected:
            await asyncio.sleep(0.05)


async def shown(app: App, job_type: str) -> float | None:
    await gauge_jobs(app.reader, app.operator, None)
    return REGISTRY.get_sample_value("foja_jobs_unhandled", {"type": job_type})


async def test_a_queued_type_without_a_handler_is_said_once(
    open_app: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    """`app.work(until_idle=True)` returned and nothing was logged, though a job waited for a handler."""
    caplog.set_level(logging.WARNING, "foja.jobs")
    async with open_app(domains=[PARCEL]) as app:
        await app.work(until_idle=True)
        assert not caplog.messages
        await pack(app)
        for _ in range(2):
            await app.work(until_idle=True)
        [said] = caplog.messages
        assert said.startswith("1 job of the type send_parcel could be done since ")
        assert "no running worker does this type; add its handler with app.workers.add('send_parcel'" in said
        assert await shown(app, "send_parcel") == 1
        app.workers.add("send_parcel", send)
        await app.work(until_idle=True)
        assert (await unhandled(app), await shown(app, "send_parcel")) == ({}, 0)
        assert len(caplog.messages) == 1


async def test_workers_announce_foja_s_types_too_and_end_cleanly(
    open_app: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    """A worker that runs handles all types it has, of Foja and of users; one that ended handles none."""
    caplog.set_level(logging.WARNING, "foja.jobs")
    async with open_app(domains=[PARCEL]) as app, open_app(domains=[PARCEL]) as other:
        await pack(app)
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(["tsa"])
        assert await unhandled(app) == {EXECUTOR_JOB: 1, "send_parcel": 1}
        async with in_background(other.work(only=["render_image"])):
            async with asyncio.timeout(SETTLE_SECONDS):
                while len(caplog.messages) < 2:
                    await asyncio.sleep(0.05)
        assert sorted(said.rpartition("; ")[2] for said in caplog.messages) == [
            "add its handler with app.workers.add('send_parcel', handler) in a program that has its domain",
            "start `foja worker`, or call app.work() without `only`",
        ]
        other.workers.add("send_parcel", send)
        async with in_background(other.work(only=["send_parcel"])):
            await becomes(app, {EXECUTOR_JOB: 1})
            # Its type is handled from the announcement on; its job is done later.
            async with asyncio.timeout(SETTLE_SECONDS):
                while not await app.jobs.list(job_type="send_parcel", state="succeeded"):
                    await asyncio.sleep(0.05)
        await pack(app)
        assert await unhandled(app) == {EXECUTOR_JOB: 1, "send_parcel": 1}


async def test_a_worker_of_one_tenant_does_not_count_for_another(open_app: Callable[..., App]) -> None:
    """With FOJA_TENANT a process claims jobs of that tenant only."""
    async with open_app(domains=[PARCEL]) as app, open_app(domains=[PARCEL], tenant="acme") as acme:
        acme.workers.add("send_parcel", send)
        await pack(app)
        async with in_background(acme.work(only=["send_parcel"])):
            await asyncio.sleep(0.2)
            await pack(acme)
            await becomes(app, {"send_parcel": 1})
            assert await find_unhandled(app.sweeper, "acme") == []


def work_for_ever(home: Path, database_url: str) -> None:
    async def run() -> None:
        async with App(Settings(home=home, database_url=database_url), [PARCEL]) as app:
            app.workers.add("send_parcel", send)
            await app.work(only=["send_parcel"])

    asyncio.run(run())


async def test_a_killed_worker_is_believed_for_a_while_and_then_missed(
    open_app: Callable[..., App], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker ran for minutes, and every page was green. Rows of dead processes are removed later."""
    async with open_app(domains=[PARCEL]) as app:
        stream = await pack(app)
        process = begin(work_for_ever, app.settings.home, database_url)
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while [job.state for job in await app.jobs.list(entity_id=stream)] != ["succeeded"]:
                    await asyncio.sleep(0.05)
        finally:
            process.kill()
            process.join()
        await pack(app)
        assert await unhandled(app) == {}
        monkeypatch.setattr(announcement, "LIVING_SECONDS", 0.0)
        assert await unhandled(app) == {"send_parcel": 1}
