"""`renew_artifacts`: add a token to an artifact before the certificates of the last token expire."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, cast
from uuid import UUID

from foja.blobs.store import Store
from foja.documents.bundles import Bundles
from foja.documents.model.events import DOCUMENT
from foja.documents.workers.artifacts import SOURCE
from foja.errors import FojaError, Tampered
from foja.jobs.outcome import Done, Job, NewJob, Outcome
from foja.judge.report import Verdict
from foja.ledger.event import Draft, draft
from foja.ledger.ledger import Ledger

TYPE = "renew_artifacts"
AHEAD = timedelta(days=30)
PAGE_DOCUMENTS = 20
log = logging.getLogger("foja.documents")


class RenewalWorker:
    """Renews what is due, one page per job; what cannot be renewed today is tried again tomorrow."""

    def __init__(self, bundles: Bundles, store: Store, ledger: Ledger, *, ahead: timedelta = AHEAD) -> None:
        self._bundles, self._store, self._ledger, self._ahead = bundles, store, ledger, ahead

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Renew one page per job."""
        return [await self._page(job) for job in jobs]

    async def _page(self, job: Job) -> Outcome:
        after, document = job.payload.get("after"), job.payload.get("document")
        before = datetime.now(UTC) + self._ahead
        rows = await self._ledger.of(job.tenant).ask(
            "artifacts_due", before=before, after=after, document=document, limit=PAGE_DOCUMENTS
        )
        renewed = [await self._renew(job.tenant, *row) for row in rows]
        more = [_next(job, rows[-1])] if len(rows) == PAGE_DOCUMENTS else []
        return Done([each for each in renewed if each is not None], more)

    async def _renew(self, tenant: str, document: UUID, sha256: str, ends: datetime) -> Draft | None:
        try:
            with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
                return await self._stamp(
                    tenant, document, sha256, ends, cast(BinaryIO, source), cast(BinaryIO, target)
                )
        except FojaError as error:
            log.warning("the artifact of %s was not renewed: %s", document, error)
            return None

    async def _stamp(
        self, tenant: str, document: UUID, sha256: str, ends: datetime, source: BinaryIO, target: BinaryIO
    ) -> Draft | None:
        await self._store.fetch(sha256, source)
        stamp = await self._bundles.renew(source, target)
        if stamp.chain_ends is None or stamp.chain_ends <= ends:
            return None  # it would not last longer: the authority has no newer certificate yet
        report = await self._bundles.judge(target)
        if report.verdict is not Verdict.TOTAL_PASSED:
            raise Tampered(f"the verdict on the renewed artifact is {report.verdict}")
        target.seek(0)
        digest, size = await self._store.keep(target)
        payload: dict[str, Any] = {
            "sha256": digest,
            "size": size,
            "gen_time": stamp.gen_time.isoformat(),
            "renew_before": stamp.chain_ends.isoformat(),
        }
        return draft(DOCUMENT, document, "artifact.renewed", payload, tenant=tenant, source=SOURCE)


def _next(job: Job, last: tuple[Any, ...]) -> NewJob:
    document, _, ends = last
    payload = {"after": ends.isoformat(), "document": str(document)}
    return NewJob(TYPE, job.entity_id, f"{job.key.partition('/')[0]}/{document}", payload)
