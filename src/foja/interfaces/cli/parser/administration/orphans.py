"""The command `foja orphans`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import ACTOR, LIMIT, Argument, command
from foja.interfaces.cli.parser.values import digest

DRY_RUN = Argument("--dry-run", "only count; change and record nothing")
COMMANDS = (
    command(
        "orphans",
        "orphans.orphans:report",
        "find and purge objects in the store that nothing refers to",
        "foja orphans\nfoja orphans scan\nfoja orphans purge --dry-run",
    ),
    command(
        "orphans scan",
        "orphans.orphans:scan",
        "look for orphans now; exit code 1 if the run is aborted or an object is missing",
        "foja orphans scan\nfoja orphans scan --dry-run --json",
        DRY_RUN,
        ACTOR,
    ),
    command(
        "orphans list",
        "orphans.orphans:listing",
        "list the candidates that are not purged, oldest first",
        "foja orphans list\nfoja orphans list --limit 10 --json",
        LIMIT,
    ),
    command(
        "orphans purge",
        "orphans.orphans:purge",
        "purge what was a candidate for long enough; exit code 1 if the run is aborted",
        "foja orphans purge --dry-run\n"
        "foja orphans purge\n"
        "foja orphans purge --object SHA256 --reason 'request 17'\n"
        "                                             one object now; refused while anything refers to it",
        Argument("--object SHA256", "delete this object without a grace period", digest),
        Argument("--reason TEXT", "why; recorded, and required with --object"),
        DRY_RUN,
        ACTOR,
    ),
    command(
        "orphans restore",
        "orphans.orphans:restore",
        "let a candidate, or an object in quarantine, be live again",
        "foja orphans restore SHA256 --reason 'the import is not finished'",
        Argument("SHA256", "the digest of the object", digest, "object"),
        Argument("--reason TEXT", "why; recorded", required=True),
        ACTOR,
    ),
    command(
        "orphans report",
        "orphans.orphans:report",
        "show candidates by age, the last runs, and whether the automatic purge is armed",
        "foja orphans report\nfoja orphans report --json",
    ),
)
