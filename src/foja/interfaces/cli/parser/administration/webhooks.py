"""The command `foja webhooks`."""

from __future__ import annotations

from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, LIMIT, Argument, command
from foja.interfaces.cli.parser.values import hours, kinds, moment, natural, web_address

WEBHOOK = Argument("WEBHOOK", "the id of the webhook", UUID)
KINDS = Argument("--kind KIND...", "a kind, or its beginning and a star; repeat for more (*)", kinds)
COMMANDS = (
    command(
        "webhooks",
        "webhooks.list",
        "tell other servers of events, signed (Standard Webhooks)",
        "foja webhooks create https://example.org/hook --kind 'document.*'\nfoja webhooks",
    ),
    command(
        "webhooks create",
        "webhooks.webhooks:create",
        "create a webhook and print its secret, once",
        "foja webhooks create https://example.org/hook --kind 'document.*' --kind user_message_sent\n"
        "foja webhooks create https://example.org/hook --payload --from-start",
        Argument("URL", "where messages are sent, https://…", web_address),
        Argument("--from-start", "tell it of all events of the log, too"),
        KINDS,
        Argument("--[no-]payload", "send the payload of events, too", default=False),
        Argument("--description TEXT", "what it is for", default=""),
        ACTOR,
        defaults={"payload": False, "description": ""},
    ),
    command(
        "webhooks change",
        "webhooks.webhooks:change",
        "change the address, the kinds or the description",
        "foja webhooks change ID --kind 'document.*' --no-payload",
        WEBHOOK,
        Argument("--url URL", "where messages are sent from now on", web_address),
        KINDS,
        Argument("--[no-]payload", "send the payload of events, too"),
        Argument("--description TEXT", "what it is for"),
        ACTOR,
    ),
    command("webhooks show", "webhooks.webhooks:show", "show one webhook", "foja webhooks show ID", WEBHOOK),
    command(
        "webhooks on",
        "webhooks.webhooks:switch",
        "switch a webhook on; what it missed is delivered",
        "foja webhooks on ID",
        WEBHOOK,
        Argument("--reason TEXT", "why; recorded"),
        ACTOR,
        defaults={"to": "on"},
    ),
    command(
        "webhooks off",
        "webhooks.webhooks:switch",
        "switch a webhook off; nothing is lost",
        "foja webhooks off ID",
        WEBHOOK,
        Argument("--reason TEXT", "why; recorded"),
        ACTOR,
        defaults={"to": "off"},
    ),
    command(
        "webhooks rotate",
        "webhooks.webhooks:rotate",
        "make a new secret and print it, once; the old one signs as well for a day",
        "foja webhooks rotate ID\nfoja webhooks rotate ID --overlap 0",
        WEBHOOK,
        Argument("--overlap HOURS", "how long the old secret signs as well (24)", hours, default=24.0),
        ACTOR,
    ),
    command(
        "webhooks remove",
        "webhooks.webhooks:remove",
        "remove a webhook with its log",
        "foja webhooks remove ID",
        WEBHOOK,
        ACTOR,
    ),
    command(
        "webhooks deliveries",
        "webhooks.deliveries:deliveries",
        "list deliveries, newest first, or show one with its attempts",
        "foja webhooks deliveries ID --state failed\nfoja webhooks deliveries ID 17",
        WEBHOOK,
        Argument("[NUMBER]", "show this delivery", natural),
        Argument("--state", "only these", choices=("waiting", "delivered", "failed")),
        LIMIT,
    ),
    command(
        "webhooks replay",
        "webhooks.deliveries:replay",
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
