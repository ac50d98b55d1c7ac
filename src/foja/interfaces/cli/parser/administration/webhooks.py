"""The command `foja webhooks`."""

from __future__ import annotations

from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, LIMIT, Argument, command
from foja.interfaces.cli.parser.values import moment, natural

WEBHOOK = Argument("WEBHOOK", "the id of the webhook", UUID, "webhook_id")
REASON = Argument("--reason TEXT", "why; recorded")
COMMANDS = (
    command(
        "webhooks",
        "webhooks.list",
        "tell other servers of events, signed (Standard Webhooks)",
        "foja webhooks create https://example.org/hook --kind 'document.*'\nfoja webhooks",
    ),
    command(
        "webhooks on",
        "webhooks.change",
        "switch a webhook on; what it missed is delivered",
        "foja webhooks on ID",
        *(WEBHOOK, REASON, ACTOR),
        defaults={"state": "on"},
    ),
    command(
        "webhooks off",
        "webhooks.change",
        "switch a webhook off; nothing is lost",
        "foja webhooks off ID",
        *(WEBHOOK, REASON, ACTOR),
        defaults={"state": "off"},
    ),
    command(
        "webhooks deliveries",
        "choices:deliveries",
        "list deliveries, newest first, or show one with its attempts",
        "foja webhooks deliveries ID --state failed\nfoja webhooks deliveries ID 17",
        WEBHOOK,
        Argument("[NUMBER]", "show this delivery", natural),
        Argument("--state", "only these", choices=("waiting", "delivered", "failed")),
        LIMIT,
    ),
    command(
        "webhooks replay",
        "choices:replay",
        "deliver again: one, a range, or what failed; exit code 1 if there was nothing",
        "foja webhooks replay ID 17\n"
        "foja webhooks replay ID --first 17 --last 40\n"
        "foja webhooks replay ID --failed --since 2026-01-31T12:00:00Z",
        WEBHOOK,
        Argument("[NUMBER]", "this delivery", natural),
        Argument("--first NUMBER", "from this delivery on", natural),
        Argument("--last NUMBER", "up to this delivery", natural),
        Argument("--since TIME", "planned at this time or later", moment),
        Argument("--until TIME", "planned before this time", moment),
        Argument("--failed", "only those that failed"),
        ACTOR,
    ),
)
