"""`decide` of a user's domain: what it writes, when it looks again, and what is refused."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

from foja.app import App
from foja.engine.jobs import decider
from foja.engine.jobs.outcome import Done, Job, NewEvent, NewJob, Outcome
from foja.engine.ledger.event import Event
from foja.engine.observe.audit import audit
from foja.pure.core.registry import Decide, Domain, JobType, Kind
from foja.pure.models.jobs.view import JobView
from tests.cases import all_cases
from tests.worker_task import working

OTHER = uuid4()
KINDS = [
    Kind("order.asked"),
    Kind("order.approved", {"decide-order"}),
    Kind("order.logged", {"decide-order"}, wakes=False),
    Kind("order.sent", {"order-sender"}),
]
TRIES = 10  # of every executor


def order(decide: Decide) -> Domain:
    return Domain("order", KINDS, jobs=[JobType("send_order", "order-sender")], decide=decide)


async def send(jobs: Sequence[Job]) -> list[Outcome]:
    return [Done([NewEvent("order.sent")]) for _ in jobs]


async def decided(open_app: Callable[..., App], decide: Decide) -> tuple[list[Event], list[JobView]]:
    """Append one event, work until nothing is runnable, and return the events and the jobs of the stream."""
    domain = order(decide)
    async with open_app(domains=[domain]) as app:
        app.workers.add("send_order", send)
        stream = await app.streams(domain).open()
        await stream.append("order.asked", {})
        await asyncio.wait_for(app.work(until_idle=True), 120)
        anomalies = (await audit(app.settings.database_url, max_lag_seconds=600)).findings
        assert {each.check for each in anomalies} <= {"dead"}
        assert not await (await app.streams(domain).open(OTHER)).events()
        return await stream.events(), list(await app.jobs.list(entity_id=stream.id))


async def test_decide_writes_its_own_stream_only(open_app: Callable[..., App]) -> None:
    """E1: an event of another stream is refused once, and nothing is recorded."""

    def elsewhere(events: Sequence[Event], now: datetime) -> list[NewEvent]:
        return [NewEvent("order.approved", entity_id=OTHER)]

    events, [job] = await decided(open_app, elsewhere)
    assert [event.kind for event in events] == ["order.asked"]
    assert (job.type, job.state, job.tries) == ("decide_order", "dead", 1)
    assert "another stream" in str(job.last_error)


async def test_an_executor_in_sql_that_writes_elsewhere_ends(
    open_app: Callable[..., App], admin: Any
) -> None:
    """E1: what an executor in SQL writes to another stream is recorded once, and its job ends."""
    domain = order(lambda events, now: [])
    async with open_app(domains=[domain]) as app:
        first, second = [await app.streams(domain).open() for _ in range(2)]
        for stream in (first, second):
            await stream.append("order.asked", {})
        admin.execute("set role foja_decide_order")
        jobs = admin.execute(
            "select job_id, lease_token, entity_id from foja.claim_jobs_v1('decide_order', 9, 'psql')"
        ).fetchall()
        assert len(jobs) == 2
        job_id, token, _ = next(job for job in jobs if job[2] == first.id)
        event = f'[{{"kind": "order.logged", "payload": {{}}, "entity_id": "{second.id}"}}]'
        settle = "select foja.complete_job_v1(%s, %s, %s, read => 1)"
        assert admin.execute(settle, [job_id, token, event]).fetchone() == ("done",)
        admin.execute("reset role")
        assert (await app.jobs.show(job_id)).state == "succeeded"
        assert [event.kind for event in await second.events()] == ["order.asked", "order.logged"]


async def test_decide_looks_again_at_its_own_event(open_app: Callable[..., App]) -> None:
    """E2: an event that `decide` records wakes it, until it returns nothing."""

    def stepwise(events: Sequence[Event], now: datetime) -> list[NewEvent | NewJob]:
        kinds = [event.kind for event in events]
        if "order.approved" not in kinds:
            return [NewEvent("order.approved")]
        return [] if "order.sent" in kinds else [NewJob("send_order", events[0].entity_id, "send")]

    events, _ = await decided(open_app, stepwise)
    assert [event.kind for event in events] == ["order.asked", "order.approved", "order.sent"]


async def test_an_own_event_of_a_kind_that_does_not_wake_ends_it(open_app: Callable[..., App]) -> None:
    """E2: `decide` is not run again for its own event of a kind with `wakes=False`."""
    events, jobs = await decided(open_app, lambda events, now: [NewEvent("order.logged")])
    assert [event.kind for event in events] == ["order.asked", "order.logged"]
    assert [job.state for job in jobs] == ["succeeded"]


async def test_a_replay_of_its_own_event_ends_it(open_app: Callable[..., App]) -> None:
    """E2: an event that is recorded already under its key does not make `decide` run without end."""
    events, jobs = await decided(
        open_app, lambda events, now: [NewEvent("order.approved", idempotency_key="once")]
    )
    assert [event.kind for event in events] == ["order.asked", "order.approved"]
    assert [job.state for job in jobs] == ["succeeded"]


async def test_decide_that_never_returns_nothing_is_slowed_down(open_app: Callable[..., App]) -> None:
    """E1, E2: after as many runs in a row as it has tries, `decide` waits: it cannot flood its stream."""
    events, [job] = await decided(open_app, lambda events, now: [NewEvent("order.approved")])
    assert TRIES < len(events) < TRIES + 5
    assert job.state == "queued"
    assert job.run_at > job.created_at


BAD: dict[str, Callable[[Sequence[Event]], Any]] = {
    "nothing": lambda events: None,
    "a text": lambda events: "garbage",
    "an outcome": lambda events: [Done()],
    "a job for a text": lambda events: [NewJob("send_order", str(events[0].entity_id), "k")],  # type: ignore[arg-type]
    "a job with NaN": lambda events: [NewJob("send_order", events[0].entity_id, "k", {"x": float("nan")})],
    "an event with NaN": lambda events: [NewEvent("order.approved", {"x": float("nan")})],
    "a version that is a text": lambda events: [NewEvent("order.approved", v="1")],  # type: ignore[arg-type]
}


@all_cases("name", BAD)
async def test_a_decision_that_cannot_be_settled_gives_its_job_up(
    open_app: Callable[..., App], name: str
) -> None:
    """E3: only the job fails, with a typed error, and the worker goes on."""
    events, [job] = await decided(open_app, lambda events, now: BAD[name](events))
    assert [event.kind for event in events] == ["order.asked"]
    assert (job.state, job.tries) == ("dead", 1)
    assert "decide of order returned" in str(job.last_error) or "was refused" in str(job.last_error)


async def test_a_slow_decide_does_not_stop_its_process(open_app: Callable[..., App]) -> None:
    """E9: `decide` runs beside the event loop; other work goes on meanwhile."""
    began, go_on = threading.Event(), threading.Event()

    def slow(events: Sequence[Event], now: datetime) -> list[NewEvent]:
        began.set()
        assert go_on.wait(60), "the event loop was blocked"
        return []

    domain = order(slow)
    async with open_app(domains=[domain]) as app:
        stream = await app.streams(domain).open()
        await stream.append("order.asked", {})
        working = asyncio.create_task(app.work(until_idle=True, only=["decide_order"]))
        while not began.is_set():
            await asyncio.sleep(0.01)
        await stream.append("order.asked", {})
        go_on.set()
        await asyncio.wait_for(working, 60)
        assert len(await stream.events()) == 2


async def test_decide_that_ends_the_process_is_a_failed_try(open_app: Callable[..., App]) -> None:
    def leave(events: Sequence[Event], now: datetime) -> list[NewEvent]:
        sys.exit(3)

    _, [job] = await decided(open_app, leave)
    assert job.state == "retry_scheduled"
    assert "it raised SystemExit: 3" in str(job.last_error)


async def test_decide_that_does_not_return_is_reported_and_blocks_nothing_else(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its thread cannot be ended, but the work can: nothing waits for that thread."""
    monkeypatch.setattr(decider, "SLOW_SECONDS", 0.1)
    going_on = threading.Event()

    def wait(events: Sequence[Event], now: datetime) -> list[NewEvent]:
        going_on.wait(120)
        return []

    domain = order(wait)
    async with open_app(domains=[domain]) as app:
        stream = await app.streams(domain).open()
        await stream.append("order.asked", {})
        async with working(app):
            while "has not returned for" not in caplog.text:
                await asyncio.sleep(0.05)
            assert (await stream.append("order.asked", {})).seq == 1
    assert not going_on.is_set()
    going_on.set()
