"""A domain of your own: invoices with their events, a rule that decides, and a worker that sends them.

    python examples/own_domain.py

Nothing has to be installed first: the embedded PostgreSQL is used unless FOJA_DATABASE_URL is set.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import datetime

import foja


def decide(events: Sequence[foja.Event], now: datetime) -> list[foja.NewJob]:
    """Return the jobs an invoice still needs. Pure: the same events give the same answer."""
    kinds = [event.kind for event in events]
    if "invoice.issued" in kinds and "invoice.sent" not in kinds:
        return [foja.NewJob("send_invoice", events[0].entity_id, key="send")]
    return []


INVOICE = foja.Domain(
    "invoice",
    kinds=[
        foja.Kind("invoice.issued", required={"total": "number"}),
        foja.Kind("invoice.sent", sources={"invoice-sender"}, required={"to": "string"}),
        foja.Kind("invoice.paid", required={"amount": "number"}, erasable=True),
    ],
    jobs=[foja.JobType("send_invoice", source="invoice-sender", lease=60, max_tries=5)],
    decide=decide,
)


async def send(jobs: Sequence[foja.Job]) -> list[foja.Done]:
    """Send invoices; what was done is recorded in the transaction that ends the job."""
    return [foja.Done(events=[foja.NewEvent("invoice.sent", {"to": "ana@example.org"})]) for _ in jobs]


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with foja.connect(home=home, domains=[INVOICE]) as app:
            app.workers.add("send_invoice", send)
            invoice = await app.streams(INVOICE).open()
            await invoice.append("invoice.issued", {"total": 120.5}, actor="ana", idempotency_key="2026-1")
            await app.work(until_idle=True)
            for event in await invoice.events():
                print(event.seq, event.kind, event.payload)
            document = await invoice.protect(["tsa"])
            await app.work(until_idle=True)
            report = foja.verify(await app.documents.bundle(document.id), trust=app.trust)
            print(report.verdict)


if __name__ == "__main__":
    asyncio.run(main())
