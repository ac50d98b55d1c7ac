"""`build_artifact` writes the bundle to keep; `renew_artifacts` adds a token before the last one expires.

A bundle is kept only if the judge passes it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, BinaryIO, cast
from uuid import UUID

from foja.blobs.store import Store
from foja.core.bundle.manifest import PROFILE
from foja.documents.bundles import SMALL_BYTES, Bundles, ProvenHistory, Written
from foja.errors import FojaError, ObjectMissing, Tampered, Unstamped
from foja.jobs.outcome import Done, Job, NewEvent, NewJob, Outcome, Snooze
from foja.judge.report import Report, Verdict
from foja.ledger.ledger import Ledger

BUILD, RENEW = "build_artifact", "renew_artifacts"
MAX_PARALLEL = 8
LONGEST_REASON = 2000
AHEAD = timedelta(days=30)
PAGE_DOCUMENTS = 20
log = logging.getLogger("foja.documents")


class ArtifactWorker:
    """Builds artifacts. Waiting for a checkpoint is not a try; everything else ends the attempt."""

    def __init__(self, bundles: Bundles, store: Store, wait_seconds: float) -> None:
        self._bundles, self._store, self._wait = bundles, store, wait_seconds
        self._limit = asyncio.Semaphore(MAX_PARALLEL)

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Read the histories of a tenant's documents together; build a few bundles at a time."""
        found: dict[int, ProvenHistory | None] = {}
        for tenant in {job.tenant for job in jobs}:
            own = [job for job in jobs if job.tenant == tenant]
            # A bundle holds the events up to the one that opened the attempt, whose number is the job's key.
            wanted = [(job.entity_id, int(job.key) + 1) for job in own]
            read = await self._bundles.of(tenant).read(wanted, patient=True)
            found |= {job.id: proven for job, proven in zip(own, read, strict=True)}
        return list(await asyncio.gather(*(self._build(job, found[job.id]) for job in jobs)))

    async def _build(self, job: Job, proven: ProvenHistory | None) -> Outcome:
        if proven is None:
            return Snooze(self._wait)
        bundles = self._bundles.of(job.tenant)
        async with self._limit:
            with tempfile.SpooledTemporaryFile(SMALL_BYTES) as spool:
                file = cast(BinaryIO, spool)
                try:
                    written = await bundles.write_history(proven, file)
                    report = await bundles.judge(file, written.trust)
                    if report.verdict is Verdict.TOTAL_PASSED:
                        return await self._finish(job, file, written, report)
                except Unstamped as error:
                    return _failed(job, error.code, str(error))
                except (ObjectMissing, Tampered) as error:
                    return _failed(job, "document_lost", str(error))
        return _failed(job, "not_passed", _explanation(report))

    async def _finish(self, job: Job, file: BinaryIO, written: Written, report: Report) -> Outcome:
        payload = {
            **await _keep(self._store, file),
            "profile": PROFILE,
            "verdict": report.verdict.value,
            "attempt": job.payload["attempt"],
            "witness_hash": written.witness,
        }
        if written.stamp.chain_ends:
            payload["renew_before"] = written.stamp.chain_ends.isoformat()
        return Done([NewEvent("artifact.finalized", payload)])


class RenewalWorker:
    """Renews what is due, one page per job; what cannot be renewed today is tried again tomorrow."""

    def __init__(self, bundles: Bundles, store: Store, ledger: Ledger, *, ahead: timedelta = AHEAD) -> None:
        self._bundles, self._store, self._ledger, self._ahead = bundles, store, ledger, ahead

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Renew one page per job."""
        return [await self._page(job) for job in jobs]

    async def _page(self, job: Job) -> Outcome:
        after, document = job.payload.get("after"), job.payload.get("document")
        before = await self._ledger.now() + self._ahead
        rows = await self._ledger.of(job.tenant).ask(
            "artifacts_due", before=before, after=after, document=document, limit=PAGE_DOCUMENTS
        )
        renewed = [await self._renew(*row) for row in rows]
        more = [_next(job, rows[-1])] if len(rows) == PAGE_DOCUMENTS else []
        return Done([each for each in renewed if each is not None], more)

    async def _renew(self, document: UUID, sha256: str, ends: datetime) -> NewEvent | None:
        try:
            with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
                files = cast(BinaryIO, source), cast(BinaryIO, target)
                payload = await self._stamp(document, sha256, ends, *files)
        except FojaError as error:
            log.warning("the artifact of %s was not renewed: %s", document, error)
            return None
        return NewEvent("artifact.renewed", payload, document) if payload else None

    async def _stamp(
        self, document: UUID, sha256: str, ends: datetime, source: BinaryIO, target: BinaryIO
    ) -> dict[str, Any] | None:
        await self._store.fetch(sha256, source)
        stamp = await self._bundles.renew(source, target)
        if stamp.chain_ends is None or stamp.chain_ends <= ends:
            return None  # it would not last longer: the authority has no newer certificate yet
        report = await self._bundles.judge(target, await self._bundles.trust(document))
        if report.verdict is not Verdict.TOTAL_PASSED:
            raise Tampered(f"the verdict on the renewed artifact is {report.verdict}")
        times = {"gen_time": stamp.gen_time.isoformat(), "renew_before": stamp.chain_ends.isoformat()}
        return {**await _keep(self._store, target), **times}


async def _keep(store: Store, file: BinaryIO) -> dict[str, Any]:
    """Store a bundle and return the payload fields that describe it."""
    file.seek(0)
    sha256, size = await store.keep(file)
    return {"sha256": sha256, "size": size}


def _next(job: Job, last: tuple[Any, ...]) -> NewJob:
    document, _, ends = last
    payload = {"after": ends.isoformat(), "document": str(document)}
    return NewJob(RENEW, job.entity_id, f"{job.key.partition('/')[0]}/{document}", payload)


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
