"""The command `foja orphans`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command
from foja.interfaces.cli.parser.values import digest

DRY_RUN = Argument("--dry-run", "only count; change and record nothing")
COMMANDS = (
    command(
        "orphans",
        "maintenance.report",
        "find and purge objects in the store that nothing refers to",
        "foja orphans\nfoja orphans scan\nfoja orphans purge --dry-run",
    ),
    command(
        "orphans scan",
        "maintenance.cleanup",
        "look for orphans now; exit code 1 if the run is aborted or an object is missing",
        "foja orphans scan\nfoja orphans scan --dry-run --json",
        DRY_RUN,
        ACTOR,
        defaults={"dry_run": False},
    ),
    command(
        "orphans purge",
        "choices:purge",
        "purge what was a candidate for long enough; exit code 1 if the run is aborted",
        "foja orphans purge --dry-run\n"
        "foja orphans purge\n"
        "foja orphans purge --object SHA256 --reason 'request 17'\n"
        "                                             one object now; refused while anything refers to it",
        Argument("--object SHA256", "delete this object without a grace period", digest, "sha256"),
        Argument("--reason TEXT", "why; recorded, and required with --object"),
        DRY_RUN,
        ACTOR,
    ),
)
