"""The queue as one role uses it: enqueue, claim, settle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from uuid import UUID

from foja.engine import sql
from foja.engine.driver import encoding
from foja.engine.driver.database import OTHER_ANSWERS, AlreadyRecorded, Database
from foja.engine.driver.pipeline import Pipeline
from foja.engine.driver.pipeline_pool import PipelinePool
from foja.engine.jobs.encoding import Settled, TypeNumbers, drafts_of, job_array, jobs_of, settle_values
from foja.engine.jobs.outcome import Job, NewJob, Settlement
from foja.engine.ledger.live.notifier import Notifier, Subscription
from foja.engine.metrics import JOB_CORRECTIONS, JOBS_SETTLED
from foja.pure.core.event import derived_id

STATEMENTS = ("enqueue_jobs", "settle_jobs")


def topic(name: str) -> tuple[str, UUID]:
    """Return the topic under which a job type or a domain is notified; all tenants share it."""
    return "", derived_id(b"foja/topic/v1", name.encode())


class Queue:
    """The queue for one source, of all tenants or of one. Its database acts as the source's role."""

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        *,
        source: str,
        tenant: str | None = None,
        pipelines: int = 1,
    ) -> None:
        self.database, self.source, self._tenant = database, source, tenant
        self._notifier = notifier
        self._types: TypeNumbers | None = None
        self._pipelines = PipelinePool(
            partial(
                Pipeline.open,
                database.url,
                database.role,
                *STATEMENTS,
                answer_seconds=OTHER_ANSWERS * database.answer_seconds,
            ),
            pipelines,
        )

    async def close(self) -> None:
        """Close its connections, once they have answered."""
        await self._pipelines.close()

    async def enqueue(self, jobs: Sequence[NewJob], tenant: str) -> int:
        """Queue these jobs of a tenant; return how many are new."""
        if not jobs:
            return 0
        values = [job_array([(job, tenant) for job in jobs], await self._numbers())]
        added = await self._pipelines.ask("enqueue_jobs", values, tenant)
        self.notify(job.type for job in jobs)
        return encoding.number(added)

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        """Lease up to `most` jobs; one that a worker died with comes alone."""
        jobs = await self.database.many(
            sql.query("claim_jobs"), Job, type=job_type, tenant=self._tenant, limit=most, worker=worker
        )
        if corrected := sum(job.corrected for job in jobs):
            JOB_CORRECTIONS.inc(corrected)
        return jobs

    async def settle(self, settled: Settled) -> list[Settlement]:
        """Record how jobs ended, all in one transaction; each gets its verdict.

        A refused event refuses them all: settle them one by one to learn which job it belongs to.
        After a lost answer it can be repeated: what was recorded is `already` settled.
        """
        if not settled:
            return []
        try:
            verdicts = await self._settle(settled, careful=False)
        except AlreadyRecorded:
            verdicts = await self._settle(settled, careful=True)
        self._report(settled, verdicts)
        return verdicts

    def notify(self, names: Iterable[str]) -> None:
        """Notify the workers of these types, or the executors of these domains."""
        for name in set(names):
            self._notifier.touch(topic(name))

    def touch(self, streams: Iterable[tuple[str, UUID]], domain: str) -> None:
        """Notify the readers of these tenants' streams, and the executor of their domain."""
        for stream in streams:
            self._notifier.touch(stream)
        self.notify([domain])

    def watch(self, name: str) -> AbstractContextManager[Subscription]:
        """Return a subscription that is set whenever there may be work."""
        return self._notifier.watch(topic(name))

    async def _settle(self, settled: Settled, *, careful: bool) -> list[Settlement]:
        values = settle_values(settled, await self._numbers(), careful=careful)
        answer = await self._pipelines.ask("settle_jobs", values)
        return [_verdict(item) for item in encoding.items(answer, len(settled))]

    async def _numbers(self) -> TypeNumbers:
        if self._types is None:
            self._types = await self.database.one(sql.query("job_types"), TypeNumbers)
        return self._types

    def _report(self, settled: Settled, verdicts: Sequence[Settlement]) -> None:
        ends, names = Counter[tuple[str, str]](), set[str]()
        for (job, outcome), verdict in zip(settled, verdicts, strict=True):
            drafts = drafts_of(outcome)
            ends[job.type, verdict] += 1
            names.update([draft.domain for draft in drafts], [new.type for new in jobs_of(outcome)])
            if verdict in ("done", "give_up"):
                for draft in drafts:
                    self._notifier.touch((draft.tenant, draft.entity_id))
        for labels, count in ends.items():
            JOBS_SETTLED.labels(*labels).inc(count)
        self.notify(names)


def _verdict(item: bytes | None) -> Settlement:
    return (item or b"").decode()  # type: ignore[return-value]
