"""What `foja webhooks` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

from foja.domains.webhooks.service import OVERLAP_SECONDS
from foja.interfaces.cli.output import field_lines, table
from foja.pure.models.webhooks.view import (
    AttemptView,
    CreatedWebhook,
    DeliveryPage,
    DeliveryView,
    DeliveryWithAttempts,
    RemovedWebhook,
    Replayed,
    Webhook,
    WebhookList,
)

HEAD = ("id", "state", "kinds", "url", "waiting", "failures")
DELIVERIES_HEAD = ("id", "state", "event", "kind", "attempts", "last answer", "created")
ATTEMPTS_HEAD = ("at", "status", "seconds", "error")


def created(found: CreatedWebhook, arguments: Namespace) -> Iterator[str]:
    """Yield the secret of a webhook, once."""
    yield f"webhook {found.id}"
    yield f"secret  {found.secret}"
    yield "keep it: it is not shown again"
    if arguments.operation == "webhooks.rotate":
        hours = getattr(arguments, "overlap_seconds", OVERLAP_SECONDS) / 3600
        yield f"the old secret signs as well for {hours:g} hours"


def listed(found: WebhookList, _: Namespace) -> Iterator[str]:
    """Return a table of the webhooks of the tenant."""
    rows = [
        (each.id, each.state, " ".join(each.kinds), each.url, each.waiting, each.failures) for each in found
    ]
    return table(HEAD, rows, "there are no webhooks")


def webhook(found: Webhook, arguments: Namespace) -> Iterator[str]:
    """Yield one webhook as it stands."""
    yield from field_lines(asdict(found))
    if getattr(arguments, "state", None) == "on":
        yield "what it missed is delivered now"


def removed(found: RemovedWebhook, _: Namespace) -> Iterator[str]:
    """Yield that a webhook was removed."""
    yield f"removed webhook {found.id}"


def deliveries(found: DeliveryPage, _: Namespace) -> Iterator[str]:
    """Return a table of deliveries, newest first."""
    return table(DELIVERIES_HEAD, [_row(each) for each in found], "no deliveries match")


def delivery(found: DeliveryWithAttempts, _: Namespace) -> Iterator[str]:
    """Yield one delivery with its attempts."""
    yield from field_lines({name: value for name, value in asdict(found).items() if name != "log"})
    if found.log:
        yield from table(ATTEMPTS_HEAD, [_attempt_row(each) for each in found.log])


def replayed(found: Replayed, _: Namespace) -> Iterator[str]:
    """Yield how many deliveries are sent again."""
    yield f"{found.replayed:,} deliveries are sent again by `foja worker`"


def _attempt_row(each: AttemptView) -> tuple[object, ...]:
    return each.at.isoformat(timespec="seconds"), each.status, f"{each.seconds:.3f}", each.error


def _row(each: DeliveryView) -> tuple[object, ...]:
    event, created_at = f"{each.entity_id} {each.seq}", each.created_at.isoformat(timespec="seconds")
    return each.id, each.state, event, each.kind, each.attempts, each.error or each.status, created_at
