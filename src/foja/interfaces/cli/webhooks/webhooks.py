"""`foja webhooks`: create, list, show, change, on, off, rotate, remove."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_result, table
from foja.pure.models.webhooks.view import CreatedWebhook, Webhook, WebhookList

HEAD = ("id", "state", "kinds", "url", "waiting", "failures")


async def create(arguments: Namespace) -> int:
    """Create a webhook and print its secret."""
    async with open_to_write(arguments) as app:
        made = await app.webhooks.create(
            arguments.url,
            arguments.kind or ["*"],
            include_payload=arguments.payload,
            description=arguments.description,
            from_start=arguments.from_start,
            actor=arguments.actor,
        )
    print_result(arguments, asdict(made), f"webhook {made.id}", *_secret_lines(made))
    return 0


def listed(found: WebhookList, _: str) -> Iterator[str]:
    """Yield a table of the webhooks of the tenant."""
    yield from table(HEAD, [_row(each) for each in found]) if found else ["there are no webhooks"]


async def show(arguments: Namespace) -> int:
    """Print one webhook."""
    async with open_installation(arguments) as app:
        found = await app.webhooks.show(arguments.webhook)
    print_result(arguments, asdict(found), *_lines(found))
    return 0


async def change(arguments: Namespace) -> int:
    """Change a webhook."""
    async with open_to_write(arguments, existing=True) as app:
        changed = await app.webhooks.change(
            arguments.webhook,
            url=arguments.url,
            kinds=arguments.kind or None,
            include_payload=arguments.payload,
            description=arguments.description,
            actor=arguments.actor,
        )
    print_result(arguments, asdict(changed), *_lines(changed))
    return 0


async def switch(arguments: Namespace) -> int:
    """Switch a webhook on or off."""
    on = arguments.to == "on"
    async with open_to_write(arguments, existing=True) as app:
        found = await app.webhooks.switch(
            arguments.webhook, on=on, reason=arguments.reason, actor=arguments.actor
        )
    line = f"webhook {found.id} is {found.state}"
    print_result(arguments, asdict(found), line + ("; what it missed is delivered now" if on else ""))
    return 0


async def rotate(arguments: Namespace) -> int:
    """Make a new secret and print it."""
    async with open_to_write(arguments, existing=True) as app:
        made = await app.webhooks.rotate(
            arguments.webhook, overlap_seconds=arguments.overlap * 3600, actor=arguments.actor
        )
    print_result(
        arguments,
        asdict(made),
        *_secret_lines(made),
        f"the old secret signs as well for {arguments.overlap:g} hours",
    )
    return 0


async def remove(arguments: Namespace) -> int:
    """Remove a webhook."""
    async with open_to_write(arguments, existing=True) as app:
        await app.webhooks.remove(arguments.webhook, actor=arguments.actor)
    print_result(arguments, {"removed": str(arguments.webhook)}, f"removed webhook {arguments.webhook}")
    return 0


def _row(each: Webhook) -> tuple[object, ...]:
    return each.id, each.state, " ".join(each.kinds), each.url, each.waiting, each.failures


def _lines(found: Webhook) -> list[str]:
    fields = {**asdict(found), "kinds": " ".join(found.kinds)}
    return [f"{name:<16}{'' if value is None else value}" for name, value in fields.items()]


def _secret_lines(made: CreatedWebhook) -> list[str]:
    return [f"secret  {made.secret}", "keep it: it is not shown again"]
