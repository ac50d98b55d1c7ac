"""The parsers of `foja events`, `audit` and `fsck`."""

from __future__ import annotations

from pathlib import Path

from foja.cli.parser.values import cursor, positive, stream
from foja.cli.parser.verbs import AddVerb


def add_events(add: AddVerb) -> None:
    """Add the verb `events`."""
    events = add(
        "events",
        "events:events",
        "print the events of a stream, or of all streams in log order",
        "  foja events ENTITY --after 41\n  foja events ENTITY --follow --json\n  foja events log --limit 10",
    )
    events.add_argument("entity", type=stream, metavar="ENTITY", help="the id of a stream, or `log` for all")
    events.add_argument("--after", type=cursor, help="only events after this number or cursor")
    events.add_argument("--follow", action="store_true", help="print new events too, until Ctrl-C")
    events.add_argument(
        "--limit", type=positive, default=1000, help="at most this many; ignored with --follow (1000)"
    )


def add_integrity(add: AddVerb) -> None:
    """Add the verbs `audit` and `fsck`."""
    add(
        "audit",
        "integrity:audit",
        "check the health of the ledger quickly; exit code 1 if anything is found",
        "  foja audit\n  foja audit --json",
    )
    fsck = add(
        "fsck",
        "integrity:fsck",
        "derive everything again from the rows and name the first changed event",
        "  foja fsck\n  foja fsck --tiles --json\n  foja fsck --checkpoint kept.checkpoint --key kept.vkey",
    )
    fsck.add_argument("--checkpoint", type=Path, metavar="FILE", help="a signed checkpoint saved elsewhere")
    fsck.add_argument(
        "--key", metavar="VKEY|FILE", help="the public key of the log (default: this installation's key)"
    )
    fsck.add_argument("--tiles", action="store_true", help="also compare every published file of the log")
