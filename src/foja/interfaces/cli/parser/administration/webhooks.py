"""The parser of `foja webhooks`."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from uuid import UUID

from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.cli.parser.values import hours, kinds, moment, natural, positive, web_address
from foja.interfaces.cli.parser.verbs import Verbs, add_actor, add_acts


def add_webhooks(verbs: Verbs) -> None:
    """Add the verb `webhooks` and its verbs; without a verb the webhooks are listed."""
    inner = add_acts(
        verbs,
        "webhooks",
        "tell other servers of events, signed (Standard Webhooks)",
        "  foja webhooks create https://example.org/hook --kind 'document.*'\n  foja webhooks",
        without="webhooks list",
        acts=ACTS,
    )
    _add_create(inner)
    _add_change(inner)
    _named(inner, "webhooks.webhooks:show", "show one webhook", "  foja webhooks show ID")
    _add_switches(inner)
    _add_rotate(inner)
    remove = _named(
        inner, "webhooks.webhooks:remove", "remove a webhook with its log", "  foja webhooks remove ID"
    )
    add_actor(remove)
    _add_deliveries(inner)


def _add_create(inner: Verbs) -> None:
    create = inner.add(
        "webhooks.webhooks:create",
        "create a webhook and print its secret, once",
        "  foja webhooks create https://example.org/hook --kind 'document.*' --kind user_message_sent\n"
        "  foja webhooks create https://example.org/hook --payload --from-start",
    )
    create.add_argument("url", type=web_address, metavar="URL", help="where messages are sent, https://…")
    create.add_argument("--from-start", action="store_true", help="tell it of all events of the log, too")
    _add_choices(create)
    create.set_defaults(payload=False, description="")
    add_actor(create)


def _add_change(inner: Verbs) -> None:
    change = _named(
        inner,
        "webhooks.webhooks:change",
        "change the address, the kinds or the description",
        "  foja webhooks change ID --kind 'document.*' --no-payload",
    )
    change.add_argument("--url", type=web_address, metavar="URL", help="where messages are sent from now on")
    _add_choices(change)
    add_actor(change)


def _add_switches(inner: Verbs) -> None:
    for to, sentence in (
        ("on", "switch a webhook on; what it missed is delivered"),
        ("off", "switch a webhook off; nothing is lost"),
    ):
        switch = _named(inner, "webhooks.webhooks:switch", sentence, f"  foja webhooks {to} ID", name=to)
        switch.set_defaults(to=to)
        switch.add_argument("--reason", metavar="TEXT", help="why; recorded")
        add_actor(switch)


def _add_rotate(inner: Verbs) -> None:
    rotate = _named(
        inner,
        "webhooks.webhooks:rotate",
        "make a new secret and print it, once; the old one signs as well for a day",
        "  foja webhooks rotate ID\n  foja webhooks rotate ID --overlap 0",
    )
    rotate.add_argument(
        "--overlap",
        type=hours,
        default=24.0,
        metavar="HOURS",
        help="how long the old secret signs as well (24)",
    )
    add_actor(rotate)


def _add_deliveries(inner: Verbs) -> None:
    listing = _named(
        inner,
        "webhooks.deliveries:deliveries",
        "list deliveries, newest first, or show one with its attempts",
        "  foja webhooks deliveries ID --state failed\n  foja webhooks deliveries ID 17",
    )
    listing.add_argument("number", nargs="?", type=natural, metavar="NUMBER", help="show this delivery")
    listing.add_argument("--state", choices=("waiting", "delivered", "failed"), help="only these")
    listing.add_argument("--limit", type=positive, default=100, help="at most this many (100)")
    replay = _named(
        inner,
        "webhooks.deliveries:replay",
        "deliver again: one, a range, or what failed; exit code 1 if there was nothing",
        "  foja webhooks replay ID 17\n"
        "  foja webhooks replay ID --first 17 --last 40\n"
        "  foja webhooks replay ID --failed --since 2026-01-31T12:00:00Z",
    )
    replay.add_argument("number", nargs="?", type=natural, metavar="NUMBER", help="this delivery")
    replay.add_argument("--first", type=natural, metavar="NUMBER", help="from this delivery on")
    replay.add_argument("--last", type=natural, metavar="NUMBER", help="up to this delivery")
    replay.add_argument("--since", type=moment, metavar="TIME", help="planned at this time or later")
    replay.add_argument("--until", type=moment, metavar="TIME", help="planned before this time")
    replay.add_argument("--failed", action="store_true", help="only those that failed")
    add_actor(replay)


def _named(
    inner: Verbs, run: str, sentence: str, examples: str, *, name: str | None = None
) -> ArgumentParser:
    parser = inner.add(run, sentence, examples, name=name)
    parser.add_argument("webhook", type=UUID, metavar="WEBHOOK", help="the id of the webhook")
    return parser


def _add_choices(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kind",
        action="append",
        type=kinds,
        metavar="KIND",
        help="a kind, or its beginning and a star; repeat for more (*)",
    )
    parser.add_argument("--payload", action=BooleanOptionalAction, help="send the payload of events, too")
    parser.add_argument("--description", metavar="TEXT", help="what it is for")
