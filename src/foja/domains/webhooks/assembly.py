"""Webhooks, put together for an installation: the service, the worker that delivers, and the chores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from foja.domains.webhooks.delivery import Deliverer, DeliveryTerms
from foja.domains.webhooks.service import Webhooks
from foja.engine import sql
from foja.engine.health.service import WEBHOOKS
from foja.engine.jobs.assembly import Shared, TenantAssembly
from foja.engine.jobs.queue import Queue, topic
from foja.engine.jobs.spec import Work, WorkerSpec
from foja.engine.maintenance.loop import throttle
from foja.engine.remote.webhook import WebhookSender
from foja.engine.settings import Settings
from foja.pure.models.system.events import DELIVER, SYSTEM
from foja.pure.models.webhooks.addresses import Network, is_listed, parse_networks, refusal_of

PLANNED_AT_ONCE = 1_000  # events of the log
OPEN_DELIVERIES = 1_000  # of one webhook; the log keeps the rest
OFF_FAILURES = 10
FORGET_SECONDS, FORGOTTEN_AT_ONCE = 60.0, 1_000
JOBS_AT_ONCE = 16  # each has up to a hundred deliveries


def assemble(shared: Shared) -> TenantAssembly[Webhooks]:
    """Return the webhooks of an installation."""
    settings = shared.settings
    networks = parse_networks(settings.webhook_networks)

    def work(queue: Queue) -> Work:
        sender = WebhookSender(
            partial(check_address, networks), timeout_seconds=settings.webhook_timeout_seconds
        )
        shared.closing.push_async_callback(sender.aclose)
        report = partial(shared.health.report, WEBHOOKS)
        return Deliverer(queue.database, sender, terms_of(settings), report).deliver_jobs

    chores = Chores(shared)
    return TenantAssembly(
        service_of=lambda tenant: Webhooks(shared.database.of(tenant), tenant, networks),
        workers=[WorkerSpec(SYSTEM, DELIVER, work, batch=JOBS_AT_ONCE)],
        chores=[chores.plan, throttle(chores.forget, FORGET_SECONDS)],
    )


def terms_of(settings: Settings) -> DeliveryTerms:
    """Return when a delivery has failed, and when a webhook is switched off."""
    return DeliveryTerms(settings.webhook_attempts, OFF_FAILURES, settings.webhook_off_seconds)


def check_address(networks: Sequence[Network], address: str, encrypted: bool) -> str | None:
    """Return why nothing may be sent to an address: plain HTTP goes only where the settings allow it."""
    if not encrypted and not is_listed(address, networks):
        return "plain HTTP goes only to networks that FOJA_WEBHOOK_NETWORKS names"
    return refusal_of(address, networks)


@dataclass(frozen=True, slots=True)
class Chores:
    """What the maintenance does for webhooks. Without webhooks it is one look at an empty index."""

    shared: Shared

    async def plan(self) -> int:
        """Plan deliveries of what the log has; return how many events were looked at."""
        values = {"limit": PLANNED_AT_ONCE, "open": OPEN_DELIVERIES}
        planned = int(await self.shared.sweeper.value(sql.query("plan_deliveries"), **values))
        if planned:
            self.shared.notifier.touch(topic(DELIVER))
        return planned

    async def forget(self) -> int:
        """Forget deliveries that ended long ago; return how many."""
        values = {"seconds": self.shared.settings.webhook_log_seconds, "limit": FORGOTTEN_AT_ONCE}
        return int(await self.shared.sweeper.value(sql.query("forget_deliveries"), **values))
