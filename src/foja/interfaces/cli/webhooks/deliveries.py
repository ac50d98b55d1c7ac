"""`foja webhooks deliveries` and `replay`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from foja.errors import SetupFailed
from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_result, table

HEAD = ("id", "state", "event", "kind", "attempts", "last answer", "created")
ATTEMPTS_HEAD = ("at", "status", "seconds", "error")


async def deliveries(arguments: Namespace) -> int:
    """Print deliveries, newest first, or one of them with its attempts."""
    if arguments.number is not None:
        return await _delivery(arguments)
    async with open_installation(arguments) as app:
        found = await app.webhooks.deliveries(arguments.webhook, state=arguments.state, limit=arguments.limit)
    rows = [
        (
            each.id,
            each.state,
            f"{each.entity_id} {each.seq}",
            each.kind,
            each.attempts,
            each.error or each.status,
            each.created_at.isoformat(timespec="seconds"),
        )
        for each in found
    ]
    lines = list(table(HEAD, rows)) if rows else ["no deliveries match"]
    print_result(arguments, [asdict(each) for each in found], *lines)
    return 0


async def replay(arguments: Namespace) -> int:
    """Deliver again."""
    if arguments.number is not None and (arguments.first, arguments.last) != (None, None):
        raise SetupFailed("a number names one delivery; leave it out with --first and --last")
    async with open_to_write(arguments, existing=True) as app:
        found = await app.webhooks.replay(
            arguments.webhook,
            first=arguments.number if arguments.number is not None else arguments.first,
            last=arguments.number if arguments.number is not None else arguments.last,
            since=arguments.since,
            until=arguments.until,
            failed=arguments.failed,
            actor=arguments.actor,
        )
    count = found.replayed
    print_result(arguments, asdict(found), f"{count:,} deliveries are sent again by `foja worker`")
    return 0 if count else 1


async def _delivery(arguments: Namespace) -> int:
    async with open_installation(arguments) as app:
        found = await app.webhooks.delivery(arguments.webhook, arguments.number)
    document = asdict(found)
    rows = [
        (each.at.isoformat(timespec="seconds"), each.status, f"{each.seconds:.3f}", each.error)
        for each in found.log
    ]
    shown = {name: value for name, value in document.items() if name != "log"}
    lines = [f"{name:<16}{'' if value is None else value}" for name, value in shown.items()]
    print_result(arguments, document, *lines, *(table(ATTEMPTS_HEAD, rows) if rows else ()))
    return 0
