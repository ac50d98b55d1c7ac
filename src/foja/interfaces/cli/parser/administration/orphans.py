"""The parser of `foja orphans`."""

from __future__ import annotations

from argparse import ArgumentParser

from foja.interfaces.cli.parser.values import digest, positive
from foja.interfaces.cli.parser.verbs import Verbs, add_actor


def add_orphans(verbs: Verbs) -> None:
    """Add the verb `orphans` and its verbs; without a verb the report is printed."""
    orphans = verbs.add(
        "orphans.orphans:report",
        "find and purge objects in the store that nothing refers to",
        "  foja orphans\n  foja orphans scan\n  foja orphans purge --dry-run",
        name="orphans",
    )
    inner = Verbs(orphans)
    scan = inner.add(
        "orphans.orphans:scan",
        "look for orphans now; exit code 1 if the run is aborted or an object is missing",
        "  foja orphans scan\n  foja orphans scan --dry-run --json",
    )
    listing = inner.add(
        "orphans.orphans:listing",
        "list the candidates that are not purged, oldest first",
        "  foja orphans list\n  foja orphans list --limit 10 --json",
        name="list",
    )
    listing.add_argument("--limit", type=positive, default=100, help="at most this many (100)")
    purge, restore = _add_purge(inner), _add_restore(inner)
    inner.add(
        "orphans.orphans:report",
        "show candidates by age, the last runs, and whether the automatic purge is armed",
        "  foja orphans report\n  foja orphans report --json",
    )
    for parser in (scan, purge):
        parser.add_argument("--dry-run", action="store_true", help="only count; change and record nothing")
    for parser in (scan, purge, restore):
        add_actor(parser)


def _add_purge(verbs: Verbs) -> ArgumentParser:
    purge = verbs.add(
        "orphans.orphans:purge",
        "purge what was a candidate for long enough; exit code 1 if the run is aborted",
        "  foja orphans purge --dry-run\n"
        "  foja orphans purge\n"
        "  foja orphans purge --object SHA256 --reason 'request 17'\n"
        "                                               one object now; refused while anything refers to it",
    )
    purge.add_argument(
        "--object", type=digest, metavar="SHA256", help="delete this object without a grace period"
    )
    purge.add_argument("--reason", metavar="TEXT", help="why; recorded, and required with --object")
    return purge


def _add_restore(verbs: Verbs) -> ArgumentParser:
    restore = verbs.add(
        "orphans.orphans:restore",
        "let a candidate, or an object in quarantine, be live again",
        "  foja orphans restore SHA256 --reason 'the import is not finished'",
    )
    restore.add_argument("object", type=digest, metavar="SHA256", help="the digest of the object")
    restore.add_argument("--reason", metavar="TEXT", required=True, help="why; recorded")
    return restore
