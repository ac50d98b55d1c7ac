"""The executor of a user's domain: it reads sealed histories, calls `decide`, and settles what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from foja import sql
from foja.core.registry import Domain
from foja.driver import encoding
from foja.driver.database import Database
from foja.errors import BadPayload, Refused
from foja.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Outcome
from foja.jobs.worker import Work
from foja.ledger.event import Draft, Event, draft


class Decider:
    """Decides for many streams at once: one read, one settlement."""

    def __init__(self, database: Database, domain: Domain) -> None:
        assert domain.decide is not None
        assert domain.executor is not None
        executor = domain.job(domain.executor)
        assert executor is not None
        self._database, self._domain, self._decide = database, domain, domain.decide
        self._source = executor.source

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return what each stream still needs, settled only while it is as it was read."""
        ids = encoding.packed(encoding.uuids([job.entity_id for job in jobs]))
        rows = await self._database.many(sql.query("stream_histories"), entities=ids)
        histories: dict[UUID, list[Event]] = {}
        for entity_id, _, *row in rows:
            histories.setdefault(entity_id, []).append(Event(entity_id, *row))
        now = rows[0][1] if rows else datetime.now(UTC)
        return [self._outcome(job, histories.get(job.entity_id, []), now) for job in jobs]

    def _outcome(self, job: Job, events: list[Event], now: datetime) -> Outcome:
        wanted = list(self._decide(events, now)) if events else []
        new = [each for each in wanted if isinstance(each, NewEvent)]
        jobs = [each for each in wanted if isinstance(each, NewJob)]
        if len(new) + len(jobs) != len(wanted):
            raise BadPayload(f"decide of {self._domain.name} returns NewJob and NewEvent values only")
        return Done(drafts(self._domain, self._source, job, new), jobs, read=len(events))


def drafts(domain: Domain, source: str, job: Job, events: Iterable[NewEvent | Draft]) -> list[Draft]:
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
    """Return a handler whose outcomes carry drafts; an event that is refused gives its job up."""

    async def run(jobs: Sequence[Job]) -> Sequence[Outcome]:
        outcomes = await work(jobs)
        return [_drafted(domain, source, job, end) for job, end in zip(jobs, outcomes, strict=True)]

    return run


def _drafted(domain: Domain, source: str, job: Job, outcome: Outcome) -> Outcome:
    try:
        if isinstance(outcome, Done):
            return Done(drafts(domain, source, job, outcome.events), outcome.jobs, outcome.read)
        if isinstance(outcome, GiveUp):
            return GiveUp(outcome.error, drafts(domain, source, job, outcome.events))
    except Refused as error:
        return GiveUp(f"its result was refused: {error}")
    return outcome
