"""`foja migrate`: the schema, forward and back."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from foja.cli.installation import settings_of
from foja.cli.output import document, say, table
from foja.embedded.servers import database
from foja.sql import migrate as migrations


async def migrate(arguments: Namespace) -> int:
    """Move the schema, or say where it stands."""
    async with database(settings_of(arguments)) as url:
        if arguments.status:
            return await _tell_status(url, as_json=arguments.json)
        moved = await migrations.migrate(url, arguments.to, None if arguments.json else say)
    if arguments.json:
        document(asdict(moved))
    else:
        say(f"the schema is at migration {moved.after}")
    return 0


async def _tell_status(url: str, *, as_json: bool) -> int:
    steps = await migrations.status(url)
    if as_json:
        document([asdict(step) for step in steps])
    else:
        rows = [(f"{step.number:04}", step.name, step.state, step.applied_at) for step in steps]
        table(("number", "name", "state", "applied at"), rows)
    return 0 if all(step.state == "applied" for step in steps) else 1
