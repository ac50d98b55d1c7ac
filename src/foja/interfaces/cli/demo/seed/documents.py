"""Documents in several states: added, protected, final, a newer version, revoked, given up."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from foja.app import App
from foja.domains.documents.document import Document
from foja.domains.documents.workers.executor import TYPE as EXECUTOR
from foja.errors import DocumentClosed
from foja.pure.models.jobs.view import JobView

ACTOR = "demo"
LEASE = """Lease of the workshop at 12 Harbour Street

The tenant pays 900 euros on the first day of each month.
The lease begins on 1 January 2027 and ends on 31 December 2029.
"""
REVOKED = "Power of attorney for Ms Ibarra. It was revoked later.\n"
FINAL = {
    "demo-order-4711.txt": "Order 4711: forty oak chairs, delivered by 1 March 2027, 3,800 euros.\n",
    "demo-acta-junta.txt": "Acta de la junta del 3 de noviembre de 2026: se aprueban las cuentas.\n",
    "demo-power-of-attorney.txt": REVOKED,
    "demo-test-report.txt": "Test report 88: the pump ran 1,000 hours at 6 bar without a leak.\n",
}
DRAFT = "Offer 12: nothing was requested for this document yet.\n"
STAGED = "Protocol of the handover: protected now, and to be completed later.\n"
UNLUCKY = "Delivery note 99: the timestamps of this document were cancelled by the operator.\n"
DIGEST = hashlib.sha256(b"a file that stays on the computer of its owner\n").hexdigest()


async def seed_documents(app: App) -> int:
    """Add documents that a worker finishes, and two that it leaves as they are; return how many are new."""
    new = 0
    for name, text in FINAL.items():
        new += await _protect(app, await app.documents.add(text.encode(), name=name))
    lease = await app.documents.add(LEASE.encode(), name="demo-lease.txt")
    newer = LEASE.replace("900 euros", "940 euros").encode()
    version = await app.documents.add(newer, name="demo-lease.txt", predecessor=lease.id)
    for document in (lease, version, await app.documents.add_digest(DIGEST, name="demo-kept-at-home.bin")):
        new += await _protect(app, document)
    staged = await app.documents.add(STAGED.encode(), name="demo-handover.txt")
    await app.documents.protect(staged.id, ["tsa"], stage="initial", actor=ACTOR)
    draft = await app.documents.add(DRAFT.encode(), name="demo-offer.txt")
    return new + staged.new + draft.new


async def revoke(app: App) -> None:
    """Revoke a document that is final."""
    document = await app.documents.add(REVOKED.encode(), name="demo-power-of-attorney.txt")
    with suppress(DocumentClosed):  # by an earlier run
        await app.documents.revoke(document.id, reason="the principal took it back", actor=ACTOR)


async def give_up(app: App) -> int:
    """Add a document whose timestamps all fail: an operator cancels every attempt.

    Timestamps are paused for a moment, so that no worker of this installation is faster.
    """
    document = await app.documents.add(UNLUCKY.encode(), name="demo-delivery-note.txt")
    if not document.new:
        return 0
    paused = "run_tsa" in await app.jobs.paused()
    await app.jobs.pause("run_tsa")
    try:
        await _protect(app, document)
        for _ in range(app.settings.protect_attempts):
            await app.work(until_idle=True, only=[EXECUTOR])
            await app.jobs.cancel([job.id for job in await _open_jobs(app, document)])
        await app.work(until_idle=True, only=[EXECUTOR])
    finally:
        if not paused:
            await app.jobs.resume("run_tsa")
    return 1


async def _protect(app: App, document: Document) -> bool:
    await app.documents.protect(document.id, ["tsa"], actor=ACTOR)
    return document.new


async def _open_jobs(app: App, document: Document) -> list[JobView]:
    jobs = await app.jobs.list(job_type="run_tsa", entity_id=document.id)
    return [job for job in jobs if job.state in ("queued", "retry_scheduled")]
