"""`build_artifact`: write the bundle that is kept; it is final only if the judge passes it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from foja.blobs.store import Store
from foja.core.bundle.manifest import PROFILE
from foja.documents.bundles import Bundles, Written
from foja.documents.model.events import DOCUMENT
from foja.errors import ObjectMissing, Tampered, Unstamped
from foja.jobs.outcome import Done, Job, Outcome, Snooze
from foja.judge.report import Report, Verdict
from foja.ledger.event import Draft, draft

TYPE, SOURCE = "build_artifact", "build-artifact"
BATCH, MAX_PARALLEL = 64, 8
LONGEST_REASON = 2000


class ArtifactWorker:
    """Builds artifacts. Waiting for a checkpoint is not a try; everything else ends the attempt."""

    def __init__(self, bundles: Bundles, store: Store, wait_seconds: float) -> None:
        self._bundles, self._store, self._wait = bundles, store, wait_seconds

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build a few at a time: each may take as much disk as its document."""
        limit = asyncio.Semaphore(MAX_PARALLEL)
        return list(await asyncio.gather(*(self._build_within(limit, job) for job in jobs)))

    async def _build_within(self, limit: asyncio.Semaphore, job: Job) -> Outcome:
        async with limit:
            return await self._build(job)

    async def _build(self, job: Job) -> Outcome:
        events = int(job.key) + 1  # up to the one that opens this attempt
        bundles = self._bundles.of(job.tenant)
        if not await bundles.is_covered(job.entity_id, events):
            return Snooze(self._wait)
        with tempfile.TemporaryFile() as spool:
            file = cast(BinaryIO, spool)
            try:
                written = await bundles.write(job.entity_id, file, events=events)
                report = await bundles.judge(file)
                if report.verdict is Verdict.TOTAL_PASSED:
                    return await self._finish(job, file, written, report)
            except Unstamped as error:
                return _failed(job, error.code, str(error))
            except (ObjectMissing, Tampered) as error:
                return _failed(job, "document_lost", str(error))
        return _failed(job, "not_passed", _explanation(report))

    async def _finish(self, job: Job, file: BinaryIO, written: Written, report: Report) -> Outcome:
        file.seek(0)
        sha256, size = await self._store.keep(file)
        payload: dict[str, Any] = {
            "sha256": sha256,
            "size": size,
            "profile": PROFILE,
            "verdict": report.verdict.value,
            "attempt": job.payload["attempt"],
            "witness_hash": written.witness,
        }
        if written.stamp.chain_ends:
            payload["renew_before"] = written.stamp.chain_ends.isoformat()
        return Done([_draft(job, "artifact.finalized", payload)])


def _failed(job: Job, code: str, reason: str) -> Outcome:
    payload = {
        "attempt": job.payload["attempt"],
        "failure_code": code.lower(),
        "reason": reason[:LONGEST_REASON],
        "witness_hash": job.payload["witness_hash"],
    }
    return Done([_draft(job, "artifact.failed", payload)])


def _draft(job: Job, kind: str, payload: dict[str, Any]) -> Draft:
    return draft(DOCUMENT, job.entity_id, kind, payload, tenant=job.tenant, source=SOURCE)


def _explanation(report: Report) -> str:
    """Return why the judge did not pass it."""
    missed = [
        f"{each.evidence}: {each.status} {each.reason or ''} {each.detail}"
        for each in report.evidence
        if each.status != "VERIFIED"
    ]
    return f"the verdict is {report.verdict}: " + "; ".join(missed)
