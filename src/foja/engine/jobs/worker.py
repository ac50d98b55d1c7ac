"""The loop of every worker: claim a batch, do it, settle it. It decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from time import perf_counter
from typing import Any

from foja.engine.driver.database import Locked
from foja.engine.faults import SETTLE_SECONDS, Report, Watch, unreported
from foja.engine.jobs.exclusive import RunLock
from foja.engine.jobs.heartbeat import Heartbeat
from foja.engine.jobs.outcome import Done, GiveUp, Job, Outcome, Retry, Settlement, Snooze
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.spec import Work
from foja.engine.metrics import JOB_SECONDS
from foja.engine.sql.network import process_name
from foja.engine.tasks import end, to_the_end
from foja.engine.tracing import Span, span, traced
from foja.engine.tracing.correlation import correlated
from foja.errors import (
    FojaError,
    ObjectMissing,
    Refused,
    Unavailable,
    UnknownEntity,
    WrongExpectedSeq,
    redact,
)

POLL_SECONDS = 1.0
ERROR_PAUSE_SECONDS = 1.0
MAX_SETTLE_TRIES = 5
SETTLED_AT_ONCE = 256  # jobs; more are settled in several transactions
CHANGED_MEANWHILE = (WrongExpectedSeq, ObjectMissing, UnknownEntity)  # the next try has another result
LOST = "the lease was lost; nothing was recorded"
LOST_OR_DONE = "the lease is another's; its stream tells whether the unanswered settlement was recorded"
log = logging.getLogger("foja.jobs")


class Worker:
    """Does the jobs of one type, a batch at a time.

    `work` returns an outcome for each job it is given. If it raises for a batch, each job is tried
    alone, so that only the one that raises fails. `wake_on` names domains whose growth may mean work.
    """

    def __init__(
        self,
        queue: Queue,
        job_type: str,
        work: Work,
        *,
        most: int = 100,
        wake_on: Sequence[str] = (),
        run_lock: RunLock | None = None,
        name: str | None = None,
        before_claim: Callable[[], Awaitable[None]] | None = None,
        rests: bool = False,
        report: Report = unreported,
    ) -> None:
        self.type, self._before_claim, self._rests = job_type, before_claim, rests
        self._snoozed = 0.0  # seconds that a job of the last batch has to wait
        self._queue, self._work, self._most, self._wake_on = queue, work, most, wake_on
        self._run_lock = run_lock or RunLock()
        self._heartbeat = Heartbeat(queue.database)
        self._watch = Watch(f"worker {job_type}", SETTLE_SECONDS)
        self._work_watch = Watch(f"job {job_type}", SETTLE_SECONDS, report=report)
        self._report = report
        self._name = name or process_name()

    async def open(self) -> None:
        """Connect, so that a missing role is known before anything is claimed."""
        await self._queue.database.open()

    async def run(self, *, until_idle: bool = False) -> None:
        """Work; with `until_idle`, return when nothing is runnable now.

        Cancelling it is a graceful end: what is being settled is settled, the rest is handed back.
        """
        with contextlib.ExitStack() as watching:
            wakes = [watching.enter_context(self._queue.watch(name)) for name in (self.type, *self._wake_on)]
            while True:
                for wake in wakes:
                    wake.clear()
                done = await self.step() if until_idle else await self._try_step()
                if self._rests and not until_idle:
                    await asyncio.sleep(min(self._snoozed, POLL_SECONDS))
                if not done:
                    if until_idle:
                        return
                    await _first(*(wake.wait() for wake in wakes))

    async def step(self) -> int:
        """Claim and settle one batch; return how many jobs it had."""
        self._snoozed = 0.0
        if self._before_claim:
            await self._before_claim()
        jobs = await self._claim()
        if not jobs:
            return 0
        began = perf_counter()
        with _traced(self.type, jobs):
            outcomes = await self._do(jobs)
            self._snoozed = max(
                (each.seconds for each in outcomes or () if isinstance(each, Snooze)), default=0.0
            )
            if outcomes is not None:
                await to_the_end(self._settle_all(list(zip(jobs, outcomes, strict=True))))
                JOB_SECONDS.labels(self.type).observe(perf_counter() - began)
        return len(jobs)

    async def _try_step(self) -> int:
        try:
            await self._heartbeat.recover()
            done = await self.step()
            self._watch.worked()
            self._work_watch.unseen()
            if not self._work_watch.failing:
                self._report(None)  # also without a job: it asked for one
            return done
        except FojaError as error:
            self._watch.failed(error)
            await asyncio.sleep(ERROR_PAUSE_SECONDS)
            return 0

    async def _claim(self) -> list[Job]:
        """Claim; if cancelled meanwhile, release the claimed jobs."""
        claiming = asyncio.ensure_future(self._queue.claim(self.type, self._most, self._name))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await to_the_end(self._hand_back_claimed(claiming))
            raise

    async def _do(self, jobs: Sequence[Job]) -> Sequence[Outcome] | None:
        """Return what came of the work, or None if the leases were lost on the way."""
        task = asyncio.create_task(self._outcomes(jobs))
        try:
            async with self._heartbeat.keeping(jobs, task):
                return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.done() and task.cancelled() and not _is_cancelled():
                log.warning("%s: lost the leases of %s jobs; their work was stopped", self.type, len(jobs))
                return None
            await to_the_end(self._stop(task, jobs))  # work that ends slowly is cancelled again meanwhile
            raise

    async def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        async with self._run_lock.join(alone=jobs[0].alone):
            return await self._try(jobs)

    async def _try(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        with correlated(lambda: jobs[0].entity_id if len(jobs) == 1 else None):
            return await self._attempt(jobs)

    async def _attempt(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        try:
            outcomes = await self._work(jobs)
            if len(outcomes) != len(jobs):
                raise RuntimeError(f"{len(jobs)} jobs have {len(outcomes)} outcomes")
            self._work_watch.worked()
            return outcomes
        except Exception as error:
            if len(jobs) == 1 or isinstance(error, Unavailable):
                return [self._failed(error)] * len(jobs)
        return [outcome for job in jobs for outcome in await self._try([job])]

    def _failed(self, error: Exception) -> Outcome:
        if isinstance(error, Unavailable):  # not the job's fault, and no try of it
            self._work_watch.failed(error)
            return Snooze(ERROR_PAUSE_SECONDS, str(error))
        log.warning("%s failed: %s", self.type, error, exc_info=not isinstance(error, FojaError))
        return Retry(redact(f"{error.__class__.__name__}: {error}"))

    async def _settle_all(self, settled: list[tuple[Job, Outcome]]) -> None:
        """Settle a large batch in parts, so that no transaction holds many streams; keep the other leases."""
        beaten = perf_counter()
        for start in range(0, len(settled), SETTLED_AT_ONCE):
            rest = settled[start:]
            if perf_counter() - beaten > rest[0][0].lease_seconds / 3:
                with contextlib.suppress(FojaError):  # then jobs whose leases ran out are done again
                    await self._heartbeat.beat([job for job, _ in rest])
                self._heartbeat.close()
                beaten = perf_counter()
            await self._settle(rest[:SETTLED_AT_ONCE])

    async def _settle(self, settled: list[tuple[Job, Outcome]]) -> list[Settlement]:
        """Settle a batch. If its events are refused, settle its halves, and give up what is refused alone.

        If another session holds a stream, only its job is not settled: it is done again after its lease.
        """
        try:
            return await self._settle_with_retries(settled)
        except Locked:
            if len(settled) == 1:
                raise
            return await self._settle_apart(settled)
        except (Refused, ObjectMissing) as error:
            if len(settled) > 1:
                half = len(settled) // 2
                return await self._settle(settled[:half]) + await self._settle(settled[half:])
            job, outcome = settled[0]
            return await self._settle_with_retries([(job, _after_refusal(outcome, error))])

    async def _settle_apart(self, settled: list[tuple[Job, Outcome]]) -> list[Settlement]:
        """Settle each job alone, all at the same time: only those of a held stream fail."""
        results = await asyncio.gather(*(self._settle([each]) for each in settled), return_exceptions=True)
        for (job, _), result in zip(settled, results, strict=True):
            if isinstance(result, Locked):
                about = {"correlation_id": job.entity_id}
                log.warning("%s %s is not settled: %s", job.type, job.id, result, extra=about)
            elif isinstance(result, BaseException):
                raise result
        return [result[0] if isinstance(result, list) else "lost" for result in results]

    async def _settle_with_retries(self, settled: Sequence[tuple[Job, Outcome]]) -> list[Settlement]:
        """Settle, and repeat it if the answer was lost: nothing is recorded twice."""
        for pause in range(MAX_SETTLE_TRIES):
            try:
                verdicts = await self._queue.settle(settled)
                for (job, _), verdict in zip(settled, verdicts, strict=True):
                    if verdict == "lost":
                        about = {"correlation_id": job.entity_id}
                        reason = LOST if pause == 0 else LOST_OR_DONE
                        log.warning("%s %s: %s", job.type, job.id, reason, extra=about)
                return verdicts
            except Unavailable as error:
                if isinstance(error, Locked) and len(settled) > 1:
                    raise
                if pause == MAX_SETTLE_TRIES - 1:
                    raise
            await asyncio.sleep(0.05 * 2**pause)
        raise AssertionError

    async def _hand_back_claimed(self, claiming: Awaitable[Sequence[Job]]) -> None:
        with contextlib.suppress(FojaError):  # then the leases run out, if there are any
            if jobs := await claiming:
                await self._hand_back(jobs)

    async def _stop(self, task: asyncio.Future[Sequence[Outcome]], jobs: Sequence[Job]) -> None:
        await end([task])
        await self._hand_back(jobs)

    async def _hand_back(self, jobs: Sequence[Job]) -> None:
        """Release the jobs for other workers; it does not count as a try."""
        with contextlib.suppress(FojaError):  # then the leases run out
            await self._queue.settle([(job, Snooze(0)) for job in jobs])


def _after_refusal(outcome: Outcome, error: Refused | ObjectMissing) -> Outcome:
    """Return how a job ends whose events were refused."""
    if isinstance(outcome, Done | GiveUp) and isinstance(error, tuple(outcome.needless)):
        return Done()
    if isinstance(error, CHANGED_MEANWHILE):
        return Retry(str(error))
    return GiveUp(f"its result was refused: {error}")


def _traced(job_type: str, jobs: Sequence[Job]) -> contextlib.AbstractContextManager[Span]:
    """Return the span of a batch of jobs."""
    if not traced():
        return span("")
    attributes: dict[str, str | int] = {"foja.job.type": job_type, "foja.job.count": len(jobs)}
    if len(jobs) == 1:
        attributes |= {"foja.job.id": jobs[0].id, "foja.entity_id": str(jobs[0].entity_id)}
    return span(f"job {job_type}", attributes)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of these does, or after a second."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
