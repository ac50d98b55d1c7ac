"""`foja migrate`: move the schema forward or back."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from foja.cli.installation import read_settings
from foja.cli.output import print_json, print_line, print_table
from foja.domains import load, prepare
from foja.embedded.servers import database
from foja.sql import migrate as migrations


async def migrate(arguments: Namespace) -> int:
    """Migrate the schema, or print which migrations are applied."""
    settings = read_settings(arguments)
    domains = load(settings.domains)
    async with database(settings) as url:
        if arguments.status:
            return await _print_status(url, as_json=arguments.json)
        moved = await prepare(url, domains, to=arguments.to, report=None if arguments.json else print_line)
    if arguments.json:
        print_json({"before": moved.before, "after": moved.after, "domains": [each.name for each in domains]})
        return 0
    print_line(f"the schema is at step {moved.after}")
    for domain in domains:
        print_line(f"the domain {domain.name} is registered")
    return 0


async def _print_status(url: str, *, as_json: bool) -> int:
    steps = await migrations.status(url)
    if as_json:
        print_json([asdict(step) for step in steps])
    else:
        rows = [(f"{step.number:04}", step.name, step.state, step.applied_at) for step in steps]
        print_table(("number", "name", "state", "applied at"), rows)
    return 0 if all(step.state == "applied" for step in steps) else 1
