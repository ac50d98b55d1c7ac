"""`build_artifact` writes the bundle to keep; `renew_artifacts` adds a token before the last one expires.

A bundle is kept only if the judge passes it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast
from uuid import UUID

from foja.domains.documents.bundles import Bundles
from foja.domains.documents.container import SMALL_BYTES, ProvenHistory, Sealed, Unsealed
from foja.engine.blobs.objects import Objects, StoredObject
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Outcome, Snooze
from foja.engine.ledger.ledger import Ledger
from foja.errors import FojaError, ObjectMissing, Tampered, Unstamped
from foja.pure.core.bundle.manifest import PROFILE
from foja.pure.judge.report import Report, Verdict
from foja.pure.models.documents.events import Evidence
from foja.pure.models.documents.recorded import read_records
from foja.pure.models.documents.tokens import refuse
from foja.pure.models.documents.track import Track
from foja.pure.proofs.finding import Finding, Reason, Status

BUILD, RENEW = "build_artifact", "renew_artifacts"
MAX_STORED = 8  # documents whose bytes are copied at the same time
GROUP_BYTES = 64 << 20  # of the documents whose bundles are under one token
LONGEST_REASON = 2000
AHEAD = timedelta(days=30)
PAGE_DOCUMENTS = 20
NO_ATTEMPT = GiveUp("its job names no attempt: its key is the number of the event that opened one")
log = logging.getLogger("foja.documents")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Ready:
    """A job and the history of its document; None if no checkpoint covers it."""

    job: Job
    proven: ProvenHistory | None


@dataclass(frozen=True, slots=True)
class _Passed:
    """A small bundle that the judge passed and that is not stored yet."""

    data: bytes
    sealed: Sealed


class ArtifactWorker:
    """Builds artifacts. Waiting for a checkpoint is not a try; everything else ends the attempt.

    With `bulk`, one token seals the bundles of many documents.
    """

    def __init__(self, bundles: Bundles, objects: Objects, wait_seconds: float, *, bulk: bool) -> None:
        self._bundles, self._objects, self._wait, self._bulk = bundles, objects, wait_seconds, bulk
        self._limit, self._copies = asyncio.Semaphore(MAX_STORED), asyncio.Semaphore(MAX_STORED)

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Read the histories of a tenant's documents together; store small bundles together."""
        sound = [job for job in jobs if _is_sound(job)]
        outcomes = dict(zip((job.id for job in sound), await self._work(sound), strict=True))
        return [outcomes.get(job.id, NO_ATTEMPT) for job in jobs]

    async def _work(self, jobs: Sequence[Job]) -> list[Outcome]:
        found = await self._read(jobs)
        if self._bulk:
            built = [each for group in _groups(found) for each in await self._build(group)]
        else:
            alone = await asyncio.gather(*(self._build([each]) for each in found))
            built = [each for (each,) in alone]
        stored = await self._store(
            [(job, each) for job, each in zip(jobs, built, strict=True) if isinstance(each, _Passed)]
        )
        return [
            _finalized(job, each.sealed, stored[job.id]) if isinstance(each, _Passed) else each
            for job, each in zip(jobs, built, strict=True)
        ]

    async def _store(self, passed: Sequence[tuple[Job, _Passed]]) -> dict[int, StoredObject]:
        """Store the bundles of each tenant together; return them by the ids of their jobs."""
        stored = dict[int, StoredObject]()
        for tenant in {job.tenant for job, _ in passed}:
            own = {job.id: each.data for job, each in passed if job.tenant == tenant}
            kept = await self._objects.of(tenant).put_many(list(own.values()))
            stored |= zip(own, kept, strict=True)
        return stored

    async def _read(self, jobs: Sequence[Job]) -> list[_Ready]:
        """Return the jobs with the histories of their documents, as far as checkpoints cover them."""
        found: dict[int, ProvenHistory | None] = {}
        for tenant in {job.tenant for job in jobs}:
            own = [job for job in jobs if job.tenant == tenant]
            # A bundle holds the events up to the one that opened the attempt, whose number is the job's key.
            wanted = [(job.entity_id, int(job.key) + 1) for job in own]
            read = await self._bundles.of(tenant).read(wanted, patient=True)
            found |= {job.id: proven for job, proven in zip(own, read, strict=True)}
        return [_Ready(job, found[job.id]) for job in jobs]

    async def _build(self, group: Sequence[_Ready]) -> list[_Passed | Outcome]:
        """Build the bundles of a group under one token; its copies of documents stay until all are built."""
        stored = any(each.proven and each.proven.is_stored for each in group)
        async with self._limit if stored else nullcontext():
            with ExitStack() as spools:
                collected = await _all(self._collect(each, spools) for each in group)
                sealed = await self._seal(group, collected)
                return await _all(map(self._finish, group, sealed))

    async def _collect(self, each: _Ready, spools: ExitStack) -> Unsealed | Outcome:
        job, proven = each.job, each.proven
        if proven is None:
            return Snooze(self._wait)
        bundles = self._bundles.of(job.tenant)
        try:
            if not proven.is_stored:
                return await bundles.collect(proven, None)
            async with self._copies:
                spool = spools.enter_context(tempfile.SpooledTemporaryFile(SMALL_BYTES))  # noqa: SIM115, it is one
                return await bundles.collect(proven, cast(BinaryIO, spool))
        except (ObjectMissing, Tampered) as error:
            return _failed(job, "document_lost", str(error))

    async def _seal(
        self, group: Sequence[_Ready], collected: Sequence[Unsealed | Outcome]
    ) -> list[Sealed | Outcome]:
        """Seal what was collected; without a token every attempt of the group ends."""
        bundles = [each for each in collected if isinstance(each, Unsealed)]
        try:
            sealed = iter(await self._bundles.seal(bundles) if bundles else ())
        except Unstamped as error:
            code, reason = error.code, str(error)
            return [
                _failed(ready.job, code, reason) if isinstance(each, Unsealed) else each
                for ready, each in zip(group, collected, strict=True)
            ]
        return [next(sealed) if isinstance(each, Unsealed) else each for each in collected]

    async def _finish(self, ready: _Ready, sealed: Sealed | Outcome) -> _Passed | Outcome:
        if not isinstance(sealed, Sealed):
            return sealed
        if not sealed.small:
            return await self._keep_large(ready, sealed)
        data = sealed.encode()
        report = await self._bundles.judge_small(data, sealed.trust)
        return _Passed(data, sealed) if _passes(report) else _not_passed(ready, report)

    async def _keep_large(self, ready: _Ready, sealed: Sealed) -> Outcome:
        with tempfile.TemporaryFile() as temporary:
            file = cast(BinaryIO, temporary)
            await sealed.write(file)
            report = await self._bundles.judge(file, sealed.trust)
            if not _passes(report):
                return _not_passed(ready, report)
            file.seek(0)
            return _finalized(ready.job, sealed, await self._objects.of(ready.job.tenant).keep(file))


def _is_sound(job: Job) -> bool:
    """Return whether a job names the event that opened an attempt, and the attempt."""
    return job.key.isdecimal() and {"witness_hash", "attempt"} <= job.payload.keys()


def _groups(jobs: Sequence[_Ready]) -> Iterator[list[_Ready]]:
    """Yield the jobs whose bundles one token seals, in order; their documents are copied at the same time."""
    group, size = list[_Ready](), 0
    for each in jobs:
        own = each.proven.stored_bytes if each.proven else 0
        if group and size + own > GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(each)
        size += own
    yield group


async def _all(steps: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Do these at the same time; raise an error of one only when all have ended."""
    results = await asyncio.gather(*steps, return_exceptions=True)
    for each in results:
        if isinstance(each, BaseException):
            raise each
    return cast(list[Result], results)


def _passes(report: Report) -> bool:
    return report.verdict is Verdict.TOTAL_PASSED


def _finalized(job: Job, sealed: Sealed, stored: StoredObject) -> Outcome:
    """Return the event about a bundle that the judge passed and that is stored."""
    payload = {
        "sha256": stored.sha256,
        "size": stored.size,
        "profile": PROFILE,
        "verdict": Verdict.TOTAL_PASSED.value,
        "attempt": job.payload["attempt"],
        "witness_hash": sealed.witness,
    }
    if sealed.stamp.chain_ends:
        payload["renew_before"] = sealed.stamp.chain_ends.isoformat()
    return Done([NewEvent("artifact.finalized", payload)])


def _not_passed(ready: _Ready, report: Report) -> Outcome:
    """Return the end of the attempt, which takes the timestamp back if it is what does not pass."""
    timestamp = next((each for each in report.evidence if each.evidence == Evidence.TSA), None)
    track = _timestamp(ready)
    if timestamp is None or not _is_refused(timestamp) or not track.confirmed:
        return _failed(ready.job, "not_passed", _explanation(report))
    return Done([NewEvent("tsa.failed", refuse(track, timestamp))])


def _is_refused(timestamp: Finding) -> bool:
    """Return whether another token is needed: one that is ahead of the clock may pass tomorrow."""
    return timestamp.status is not Status.VERIFIED and timestamp.reason is not Reason.AFTER_VALIDATION_TIME


def _timestamp(ready: _Ready) -> Track:
    """Return the attempts at the timestamp of the document."""
    assert ready.proven is not None
    return read_records(ready.proven.events).history.track(Evidence.TSA, ready.job.payload["witness_hash"])


class RenewalWorker:
    """Renews what is due, one page per job; what cannot be renewed today is tried again tomorrow."""

    def __init__(
        self, bundles: Bundles, objects: Objects, ledger: Ledger, *, ahead: timedelta = AHEAD
    ) -> None:
        self._bundles, self._objects, self._ledger, self._ahead = bundles, objects, ledger, ahead

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Renew one page per job."""
        return [await self._page(job) for job in jobs]

    async def _page(self, job: Job) -> Outcome:
        after, document = job.payload.get("after"), job.payload.get("document")
        before = await self._ledger.now() + self._ahead
        rows = await self._ledger.of(job.tenant).ask(
            "artifacts_due", DueArtifact, before=before, after=after, document=document, limit=PAGE_DOCUMENTS
        )
        renewed = [await self._renew(job.tenant, *row) for row in rows]
        more = [_next(job, rows[-1])] if len(rows) == PAGE_DOCUMENTS else []
        return Done([each for each in renewed if each is not None], more)

    async def _renew(self, tenant: str, document: UUID, sha256: str, ends: datetime) -> NewEvent | None:
        try:
            with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
                files = cast(BinaryIO, source), cast(BinaryIO, target)
                await self._objects.fetch(tenant, sha256, files[0])
                payload = await self._stamp(tenant, document, ends, *files)
        except FojaError as error:
            log.warning("the artifact of %s was not renewed: %s", document, error)
            return None
        return NewEvent("artifact.renewed", payload, document) if payload else None

    async def _stamp(
        self, tenant: str, document: UUID, ends: datetime, source: BinaryIO, target: BinaryIO
    ) -> dict[str, Any] | None:
        stamp = await self._bundles.renew(source, target)
        if stamp.chain_ends is None or stamp.chain_ends <= ends:
            return None  # it would not last longer: the authority has no newer certificate yet
        report = await self._bundles.judge(target, await self._bundles.trust(document))
        if report.verdict is not Verdict.TOTAL_PASSED:
            raise Tampered(f"the verdict on the renewed artifact is {report.verdict}")
        times = {"gen_time": stamp.gen_time.isoformat(), "renew_before": stamp.chain_ends.isoformat()}
        return {**await _keep(self._objects.of(tenant), target), **times}


async def _keep(objects: Objects, file: BinaryIO) -> dict[str, Any]:
    """Store a bundle and return the payload fields that describe it."""
    file.seek(0)
    stored = await objects.keep(file)
    return {"sha256": stored.sha256, "size": stored.size}


class DueArtifact(NamedTuple):
    """A final document whose newest seal expires soon, and the digest of its artifact."""

    document: UUID
    sha256: str
    ends: datetime


def _next(job: Job, last: DueArtifact) -> NewJob:
    payload = {"after": last.ends.isoformat(), "document": str(last.document)}
    return NewJob(RENEW, job.entity_id, f"{job.key.partition('/')[0]}/{last.document}", payload)


def _failed(job: Job, code: str, reason: str) -> Outcome:
    payload = {
        "attempt": job.payload["attempt"],
        "failure_code": code.lower(),
        "reason": reason[:LONGEST_REASON],
        "witness_hash": job.payload["witness_hash"],
    }
    return Done([NewEvent("artifact.failed", payload)])


def _explanation(report: Report) -> str:
    """Return why the judge did not pass it."""
    missed = [
        f"{each.evidence}: {each.status} {each.reason or ''} {each.detail}"
        for each in report.evidence
        if each.status != "VERIFIED"
    ]
    return f"the verdict is {report.verdict}: " + "; ".join(missed)
