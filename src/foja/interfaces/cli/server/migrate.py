"""`foja migrate`: move the schema forward or back."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from foja.domains.registration import load, prepare
from foja.engine.embedded.servers import database
from foja.engine.private import check_finished
from foja.engine.sql import migrate as migrations
from foja.errors import SetupFailed
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_line, print_result, table
from foja.interfaces.cli.parser.values import RUNNING


async def migrate(arguments: Namespace) -> int:
    """Migrate the schema, or print which migrations are applied."""
    settings = read_settings(arguments)
    check_finished(settings.home)  # a schema here would be in the way of the restore
    domains = load(settings.domains)
    async with database(settings) as url:
        if arguments.status:
            return await _print_status(arguments, url)
        await _confirm_way_back(arguments, url)
        moved = await prepare(url, domains, to=arguments.to, report=None if arguments.json else print_line)
    names = list(dict.fromkeys(domain.name for domain in domains))
    print_result(
        arguments,
        {"before": moved.before, "after": moved.after, "domains": names},
        f"the schema is at step {moved.after}",
        *(f"the domain {name} is registered" for name in names),
    )
    return 0


async def _confirm_way_back(arguments: Namespace, url: str) -> None:
    """Raise `SetupFailed` if steps would be reverted and --yes does not confirm that, or that others run."""
    if arguments.to is None or arguments.yes == RUNNING:
        return
    reverted = [
        step for step in await migrations.status(url) if step.applied_at and step.number > arguments.to
    ]
    if not reverted:
        return
    names = ", ".join(f"{step.number} {step.name}" for step in reversed(reverted))
    living = await migrations.living(url)
    if living:
        raise SetupFailed(
            f"this would revert {names} while processes use the database: {', '.join(living)}; they would "
            f"answer with errors. Stop them, or repeat the command with --yes {RUNNING}"
        )
    if not arguments.yes:
        raise SetupFailed(
            f"this would revert {names}: what events tell is dropped and made again from them on the way "
            "forward, what they do not tell is kept for it; back up the database, then repeat the command "
            "with --yes"
        )


async def _print_status(arguments: Namespace, url: str) -> int:
    steps = await migrations.status(url)
    rows = [(f"{step.number:04}", step.name, step.state, step.applied_at) for step in steps]
    lines = table(("number", "name", "state", "applied at"), rows)
    print_result(arguments, [asdict(step) for step in steps], *lines)
    return 0 if all(step.state == "applied" for step in steps) else 1
