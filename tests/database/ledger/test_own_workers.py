"""Handlers of a user's job types that return what no job can be settled with: only their jobs fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest

from foja.app import App
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Outcome, Retry, Snooze
from foja.engine.jobs.spec import Work
from foja.errors import BadDomain, BadPayload
from foja.pure.core.registry import Domain, JobType, Kind
from tests.cases import all_cases

LETTER = Domain(
    "letter",
    [Kind("letter.written"), Kind("letter.posted", {"postman"}, {"to": "string"})],
    jobs=[JobType("post_letter", "postman", max_tries=2, backoff=0.01)],
)


def per_job(outcome: Callable[[Job], Any]) -> Work:
    async def handler(jobs: Sequence[Job]) -> Any:
        return [outcome(job) if job.key == "bad" else Done() for job in jobs]

    return handler


def posted(**more: Any) -> NewEvent:
    return NewEvent("letter.posted", {"to": "ana"}, **more)


def follow(entity_id: Any, key: Any = "next", **more: Any) -> Done:
    return Done(jobs=[NewJob("post_letter", entity_id, key, **more)])


BAD: dict[str, Callable[[Job], Any]] = {
    "a text": lambda job: "ok",
    "True": lambda job: True,
    "None": lambda job: None,
    "the class Done": lambda job: Done,
    "jobs that are texts": lambda job: Done(jobs=["next"]),  # type: ignore[list-item]
    "an event alone": lambda job: Done(events=posted()),  # type: ignore[arg-type]
    "events that are texts": lambda job: GiveUp("no", events=["sent"]),
    "no error": lambda job: Retry(None),  # type: ignore[arg-type]
    "a number as error": lambda job: Retry(5),  # type: ignore[arg-type]
    "a retry after NaN": lambda job: Retry("x", after=float("nan")),
    "a reason that is None": lambda job: GiveUp(None),  # type: ignore[arg-type]
    "a pause that is a text": lambda job: Snooze("a"),  # type: ignore[arg-type]
    "a pause without end": lambda job: Snooze(float("inf")),
    "an id that is a text": lambda job: Done([posted(entity_id=str(job.entity_id))]),
    "a job for a text": lambda job: follow(str(job.entity_id)),
    "a job with a number as key": lambda job: follow(job.entity_id, 5),
    "a job with an empty key": lambda job: follow(job.entity_id, ""),
    "a job with a long key": lambda job: follow(job.entity_id, "k" * 100_000),
    "a job with a key with U+0000": lambda job: follow(job.entity_id, "a\0b"),
    "a job with a set": lambda job: follow(job.entity_id, payload={"x": {1}}),
    "a job with NaN": lambda job: follow(job.entity_id, payload={"x": float("nan")}),
    "a job with 3 MB": lambda job: follow(job.entity_id, payload={"x": "y" * 3_000_000}),
    "a job with a list": lambda job: follow(job.entity_id, payload=[1]),
    "a job in the past": lambda job: follow(job.entity_id, delay=-5),
    "a job with a text as priority": lambda job: follow(job.entity_id, priority="high"),
    "an unknown job type": lambda job: Done(jobs=[NewJob("nothing", job.entity_id, "k")]),
    "a read beyond the stream": lambda job: Done(read=99),
}


async def test_an_outcome_that_cannot_be_settled_gives_its_job_up(open_app: Callable[..., App]) -> None:
    """E4, E24: each such outcome fails its job with a typed error; the worker and the other jobs go on."""
    async with open_app(domains=[LETTER]) as app:
        current: list[Work] = []

        async def handler(jobs: Sequence[Job]) -> Sequence[Outcome]:
            return await current[-1](jobs)

        app.workers.add("post_letter", handler)
        for name, outcome in BAD.items():
            current.append(per_job(outcome))
            stream = await app.streams(LETTER).open()
            await stream.append("letter.written", {})
            for key in ("bad", "good"):
                await app.jobs.enqueue("post_letter", stream.id, key=key)
            await asyncio.wait_for(app.work(until_idle=True, only=["post_letter"]), 60)
            jobs = {job.key: job for job in await app.jobs.list(entity_id=stream.id)}
            assert {key: job.state for key, job in jobs.items()} == {"bad": "dead", "good": "succeeded"}, name
            assert "its result was refused" in str(jobs["bad"].last_error), name
            assert len(await stream.events()) == 1, name


@all_cases("returned", [None, {}, "ok", [], [Done()] * 3, 5], ids=repr)
async def test_a_handler_without_one_outcome_per_job_says_so(
    open_app: Callable[..., App], returned: Any
) -> None:
    """E4, E22: what is not a list with one outcome per job is one try of each job, and the error says why."""

    async def handler(jobs: Sequence[Job]) -> Any:
        return returned

    async with open_app(domains=[LETTER]) as app:
        app.workers.add("post_letter", handler)
        stream = await app.streams(LETTER).open()
        await stream.append("letter.written", {})
        await app.jobs.enqueue("post_letter", stream.id, key="1")
        await asyncio.wait_for(app.work(until_idle=True, only=["post_letter"]), 60)
        [job] = await app.jobs.list(entity_id=stream.id)
        assert job.state in ("retry_scheduled", "dead")
        assert "return a list with one outcome for each job" in str(job.last_error)


async def test_a_job_that_cannot_be_sent_is_refused(open_app: Callable[..., App]) -> None:
    """E20, E24: `enqueue` refuses what it cannot send with a typed error that names the field."""
    good: dict[str, Any] = {"entity_id": uuid4(), "key": "k"}
    async with open_app(domains=[LETTER]) as app:
        for wrong in (
            {"entity_id": str(uuid4())},
            {"key": ""},
            {"key": None},
            {"key": "k" * 100_000},
            {"payload": {"x": float("nan")}},
            {"payload": {"x": {1, 2}}},
            {"payload": {"x": "y" * 3_000_000}},
            {"payload": "text"},
            {"delay": float("inf")},
            {"priority": 10**9},
            {"on_death": "kind"},
        ):
            with pytest.raises(BadPayload):
                await app.jobs.enqueue("post_letter", **{**good, **wrong})


def plain(jobs: Sequence[Job]) -> list[Outcome]:
    return [Done() for _ in jobs]


async def cancelled(jobs: Sequence[Job]) -> list[Outcome]:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("handler", "said"), [(plain, "use async def"), (cancelled, "the handler raised CancelledError")]
)
async def test_a_handler_that_cannot_be_awaited_or_cancels_itself_is_a_failed_try(
    open_app: Callable[..., App], handler: Any, said: str
) -> None:
    async with open_app(domains=[LETTER]) as app:
        app.workers.add("post_letter", handler)
        stream = await app.streams(LETTER).open()
        await app.jobs.enqueue("post_letter", stream.id, key="1")
        await asyncio.wait_for(app.work(until_idle=True), 120)
        [job] = await app.jobs.list(job_type="post_letter")
        assert job.state in ("retry_scheduled", "dead")
        assert said in str(job.last_error)


async def test_what_is_not_a_handler_is_refused_when_it_is_added(open_app: Callable[..., App]) -> None:
    async def generator(jobs: Sequence[Job]) -> Any:
        yield Done()

    async with open_app(domains=[LETTER]) as app:
        for handler in (generator, "send", None):
            with pytest.raises(BadDomain, match="is not a handler"):
                app.workers.add("post_letter", handler)  # type: ignore[arg-type]


async def test_a_job_with_asked_by_needs_its_event(open_app: Callable[..., App]) -> None:
    domain = Domain(
        "order",
        [Kind("order.placed", required={"item": "string"})],
        jobs=[JobType("pack_order", "packer", asked_by="order.placed")],
    )
    async with open_app(domains=[domain]) as app:
        stream = await app.streams(domain).open()
        placed = await stream.append("order.placed", {"item": "tea", "count": 2})
        for key, payload in (("k", {}), ("7", {}), (str(placed.seq), {"item": "coffee"})):
            with pytest.raises(BadPayload, match=r"requested by an event of the kind order\.placed"):
                await app.jobs.enqueue("pack_order", stream.id, key=key, payload=payload)
        await app.jobs.enqueue("pack_order", stream.id, key=str(placed.seq), payload={"item": "tea"})
    with pytest.raises(BadDomain, match=r"no kind 'order\.sent'"):
        Domain("order", [Kind("order.placed")], jobs=[JobType("pack_order", "packer", asked_by="order.sent")])
