"""The executor of a user's domain: it reads sealed histories, calls `decide`, and settles what it returns."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from foja.engine import sql
from foja.engine.driver import encoding
from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Outcome, check_outcome
from foja.engine.jobs.spec import Work
from foja.engine.ledger.event import Draft, Event, draft, event_of
from foja.engine.tasks import run_apart
from foja.errors import BadPayload, Refused
from foja.pure.core.registry import Domain

SLOW_SECONDS = 30.0
log = logging.getLogger("foja.jobs")


async def decide_streams(database: Database, domain: Domain, jobs: Sequence[Job]) -> list[Outcome]:
    """Return what each stream still needs, settled only while it is as it was read. One read for all."""
    ids = encoding.packed(encoding.uuids([job.entity_id for job in jobs]))
    rows = await database.many(sql.query("stream_histories"), entities=ids)
    histories: dict[UUID, list[Event]] = {}
    for entity_id, _, *row in rows:
        histories.setdefault(entity_id, []).append(event_of(entity_id, *row))
    now = rows[0][1] if rows else datetime.now(UTC)

    def decide() -> list[Outcome]:
        return [_decide(domain, job, histories.get(job.entity_id, []), now) for job in jobs]

    return await _await_decision(domain, asyncio.ensure_future(run_apart(decide)))


async def _await_decision(domain: Domain, deciding: asyncio.Future[list[Outcome]]) -> list[Outcome]:
    """Wait for a user's code, which may take long, and report it if it does."""
    try:
        if not (await asyncio.wait([deciding], timeout=SLOW_SECONDS))[0]:
            log.error(
                "decide of %s has not returned for %.0f s, and its streams wait; it must be pure and quick",
                domain.name,
                SLOW_SECONDS,
            )
        return await deciding
    finally:
        deciding.cancel()


def _decide(domain: Domain, job: Job, events: list[Event], now: datetime) -> Outcome:
    assert domain.decide is not None
    wanted = domain.decide(events, now) if events else ()
    wanted = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    for each in wanted:
        if not isinstance(each, NewEvent | NewJob):
            kind = type(each).__name__
            return GiveUp(f"decide of {domain.name} returned a {kind}: it returns NewJob and NewEvent values")
        if isinstance(each, NewEvent) and each.entity_id not in (None, job.entity_id):
            return GiveUp(
                f"decide of {domain.name} returned an event of another stream, {each.entity_id}: leave "
                "entity_id out, or return a NewJob whose handler records it"
            )
    new = [each for each in wanted if isinstance(each, NewEvent)]
    return Done(new, [each for each in wanted if isinstance(each, NewJob)], read=len(events))


def _drafts(domain: Domain, source: str, job: Job, events: Iterable[NewEvent | Draft]) -> list[Draft]:
    """Return the events of an outcome as drafts of the job's tenant, recorded by `source`."""
    return [
        event
        if isinstance(event, Draft)
        else draft(
            domain,
            event.entity_id or job.entity_id,
            event.kind,
            event.payload,
            tenant=job.tenant,
            source=source,
            actor=event.actor,
            idempotency_key=event.idempotency_key,
            expected_seq=event.expected_seq,
            v=event.v,
        )
        for event in events
    ]


def drafting(domain: Domain, source: str, work: Work) -> Work:
    """Return a handler whose outcomes carry drafts; an outcome that is refused gives its job up."""

    async def run(jobs: Sequence[Job]) -> Sequence[Outcome]:
        outcomes = await _call(work, jobs)
        if not isinstance(outcomes, list | tuple) or len(outcomes) != len(jobs):
            given = f"{len(outcomes)} outcomes" if isinstance(outcomes, list | tuple) else repr(outcomes)
            raise BadPayload(
                f"{len(jobs)} jobs got {given:.100}: return a list with one outcome for each job"
            )
        return [_drafted(domain, source, job, end) for job, end in zip(jobs, outcomes, strict=True)]

    return run


async def _call(work: Work, jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Call a handler; what it raises is a failed try, also a cancellation that we did not request."""
    result = work(jobs)
    if not inspect.isawaitable(result):
        raise BadPayload(
            f"the handler returned a {type(result).__name__}, and nothing to await: use async def"
        )
    try:
        return await result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("the handler raised CancelledError") from error


def _drafted(domain: Domain, source: str, job: Job, outcome: Outcome) -> Outcome:
    try:
        check_outcome(outcome)
        if isinstance(outcome, Done | GiveUp):
            return replace(outcome, events=_drafts(domain, source, job, outcome.events))
    except Refused as error:
        return GiveUp(f"its result was refused: {error}")
    return outcome
