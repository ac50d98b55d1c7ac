"""The worker that delivers: read what waits, send it, record each attempt. Sent twice rather than never."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, time
from typing import Any
from uuid import UUID, uuid4

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.faults import Report, unreported
from foja.engine.jobs.outcome import Done, Job, Outcome, Snooze
from foja.engine.metrics import WEBHOOK_ATTEMPTS
from foja.engine.remote.webhook import Answer, NoAnswer, WebhookSender
from foja.errors import Unavailable
from foja.pure.models.webhooks.message import Delivery
from foja.pure.models.webhooks.rules import GONE, delay_after, is_delivered
from foja.pure.models.webhooks.signature import sign

AT_ONCE = 8  # messages on their way to one webhook


@dataclass(frozen=True, slots=True)
class DeliveryTerms:
    """When a delivery has failed, and when a webhook is switched off."""

    attempts: int
    failures: int  # in a row
    seconds: float  # during which they happened


@dataclass(frozen=True, slots=True)
class Attempt:
    """One message that was sent, and what came back."""

    delivery: Delivery
    reply: Answer | NoAnswer
    seconds: float

    @property
    def error(self) -> str | None:
        """Why it was not delivered; None if it was."""
        if isinstance(self.reply, NoAnswer):
            return self.reply.detail
        return None if is_delivered(self.reply.status) else f"HTTP status {self.reply.status}"

    @property
    def delay(self) -> float:
        """The seconds before the next attempt."""
        asked = self.reply.retry_after if isinstance(self.reply, Answer) else None
        return delay_after(self.delivery.attempts + 1, asked)

    def row(self) -> dict[str, Any]:
        """Return it as the database records it."""
        status = self.reply.status if isinstance(self.reply, Answer) else None
        fields = {"id": str(uuid4()), "delivery": self.delivery.id, "seconds": self.seconds}
        return fields | {"status": status, "error": self.error, "gone": status == GONE}


@dataclass(frozen=True, slots=True)
class Deliverer:
    """Delivers the batches of jobs."""

    database: Database  # as `webhooks`
    sender: WebhookSender
    terms: DeliveryTerms
    report: Report = unreported

    async def deliver_jobs(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Send what these jobs' batches still have; a job with something left goes on later.

        A receiver that fails is no failure of the job: each delivery counts its own attempts.
        """
        batches = [UUID(job.key) for job in jobs]
        by_webhook: dict[UUID, list[Delivery]] = {}
        for delivery in await self.database.rows(sql.query("open_deliveries"), Delivery, batches=batches):
            by_webhook.setdefault(delivery.webhook_id, []).append(delivery)
        failed: dict[UUID, Attempt] = {}
        for attempts in await asyncio.gather(*map(self._deliver, by_webhook.values())):
            failed |= attempts
        return [
            Snooze(attempt.delay, attempt.error) if (attempt := failed.get(UUID(job.key))) else Done()
            for job in jobs
        ]

    async def _deliver(self, deliveries: Sequence[Delivery]) -> dict[UUID, Attempt]:
        """Send to one webhook, some at once; return an attempt that failed of each batch that is not done.

        If all of some at once fail, the others are not tried now: its server is away.
        """
        failed: dict[UUID, Attempt] = {}
        for start in range(0, len(deliveries), AT_ONCE):
            made = await asyncio.gather(*map(self._send, deliveries[start : start + AT_ONCE]))
            await self._record(made)
            failures = [attempt for attempt in made if attempt.error]
            failed |= {each.delivery.batch: each for each in failures}
            if len(failures) == len(made):
                rest = {each.batch for each in deliveries[start + AT_ONCE :]}
                return failed | dict.fromkeys(rest - failed.keys(), failures[-1])
        return failed

    async def _send(self, delivery: Delivery) -> Attempt:
        body = delivery.body()
        headers = {
            "content-type": "application/json",
            "user-agent": "foja",
            **sign(delivery.secrets, delivery.message_id, int(time()), body),
        }
        began = perf_counter()
        reply = await self.sender.post(delivery.url, headers, body)
        return Attempt(delivery, reply, perf_counter() - began)

    async def _record(self, made: Sequence[Attempt]) -> None:
        await self.database.row(
            sql.query("record_attempts"),
            webhook=made[0].delivery.webhook_id,
            made=json.dumps([attempt.row() for attempt in made]),
            attempts=self.terms.attempts,
            failures=self.terms.failures,
            seconds=self.terms.seconds,
        )
        for attempt in made:
            WEBHOOK_ATTEMPTS.labels("failed" if attempt.error else "delivered").inc()
            self.report(Unavailable(f"a receiver failed: {attempt.error}") if attempt.error else None)
