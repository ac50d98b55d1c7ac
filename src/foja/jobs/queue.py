"""One role's way to the queue: ask for work, claim it, say how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from uuid import UUID, uuid5

from foja import sql
from foja.driver import encoding
from foja.driver.database import AlreadyRecorded, Database
from foja.driver.pipeline import Pipeline
from foja.driver.pipeline_pool import PipelinePool
from foja.jobs.encoding import Settled, job_columns, settle_values
from foja.jobs.outcome import Done, GiveUp, Job, NewJob, Settlement
from foja.ledger.live.notifier import Notifier, Subscription
from foja.metrics import JOB_CORRECTIONS, JOBS_SETTLED

STATEMENTS = ("enqueue_jobs", "settle_jobs")
HINTS = UUID("7f0c1d52-6c5b-5b0a-9d0e-3a5b7f4f6a11")


def hint(name: str) -> UUID:
    """Return what stands for a job type, or for a domain, where hints name streams."""
    return uuid5(HINTS, name)


class Queue:
    """The jobs of one tenant, as the role of one source. Its database acts as that role."""

    def __init__(
        self, database: Database, notifier: Notifier, *, source: str, tenant: str, pipelines: int = 1
    ) -> None:
        self.database, self.source, self.tenant = database, source, tenant
        self._notifier = notifier
        self._draft_type = 0
        self._pipelines = PipelinePool(
            lambda: Pipeline.open(database.url, database.role, *STATEMENTS), pipelines
        )

    async def close(self) -> None:
        """Close its connections, once they have answered."""
        await self._pipelines.close()

    async def enqueue(self, jobs: Sequence[NewJob]) -> int:
        """Ask for these jobs; return how many nobody had asked for before."""
        if not jobs:
            return 0
        kind, entity, *more = job_columns(jobs)
        added = await self._pipelines.ask("enqueue_jobs", [kind, entity, encoding.text(self.tenant), *more])
        self.tell(job.type for job in jobs)
        return encoding.number(added)

    async def claim(self, job_type: str, most: int, worker: str) -> list[Job]:
        """Lease up to `most` jobs; one that a worker died with comes alone."""
        rows = await self.database.many(
            sql.query("claim_jobs"), type=job_type, tenant=self.tenant, most=most, worker=worker
        )
        jobs = [Job(*row) for row in rows]
        if corrected := sum(job.corrected for job in jobs):
            JOB_CORRECTIONS.inc(corrected)
        return jobs

    async def settle(self, settled: Settled) -> list[Settlement]:
        """Say how jobs ended, all in one transaction; each gets its verdict.

        A refused event refuses them all: settle them one by one to learn whose it was.
        After a lost answer it may be said again: what was recorded is `already` settled.
        """
        if not settled:
            return []
        try:
            verdicts = await self._settle(settled, careful=False)
        except AlreadyRecorded:
            verdicts = await self._settle(settled, careful=True)
        self._report(settled, verdicts)
        return verdicts

    def tell(self, names: Iterable[str]) -> None:
        """Let the workers of these types, or the executors of these domains, look soon."""
        for name in set(names):
            self._notifier.touch(hint(name))

    def watch(self, name: str) -> AbstractContextManager[Subscription]:
        """Lend a wake that is set whenever there may be work."""
        return self._notifier.watch(hint(name))

    async def _settle(self, settled: Settled, *, careful: bool) -> list[Settlement]:
        draft_type = self._draft_type or await self._look_up()
        values = settle_values(settled, draft_type, source=self.source, tenant=self.tenant, careful=careful)
        answer = await self._pipelines.ask("settle_jobs", values)
        return [_verdict(item) for item in encoding.items(answer, len(settled))]

    async def _look_up(self) -> int:
        row = await self.database.row(sql.query("draft_type"))
        assert row is not None
        self._draft_type = int(row[0])
        return self._draft_type

    def _report(self, settled: Settled, verdicts: Sequence[Settlement]) -> None:
        ends = Counter((job.type, verdict) for (job, _), verdict in zip(settled, verdicts, strict=True))
        for names, count in ends.items():
            JOBS_SETTLED.labels(*names).inc(count)
        for (_, outcome), verdict in zip(settled, verdicts, strict=True):
            if isinstance(outcome, Done | GiveUp) and verdict in ("done", "give_up"):
                for draft in outcome.events:
                    self._notifier.touch(draft.entity_id)
        drafts = [draft for _, end in settled if isinstance(end, Done | GiveUp) for draft in end.events]
        follow = [job.type for _, end in settled if isinstance(end, Done) for job in end.jobs]
        self.tell([*(draft.domain for draft in drafts), *follow])


def _verdict(item: bytes | None) -> Settlement:
    return (item or b"").decode()  # type: ignore[return-value]
