"""The words of what reads and checks the ledger: events, audit, fsck, log."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.cli.parser.values import cursor, natural, positive, stream
from foja.cli.parser.verbs import Verbs, verbs_of


def add_reading(add: Verbs) -> None:
    """Add what reads streams."""
    events = add(
        "events",
        "events:events",
        "read a stream, or all of them in the log's order",
        "  foja events ENTITY --after 41\n  foja events ENTITY --follow --json\n  foja events log --limit 10",
    )
    events.add_argument("entity", type=stream, metavar="ENTITY", help="a stream's id, or `log` for all")
    events.add_argument("--after", type=cursor, help="only what comes after this number or cursor")
    events.add_argument("--follow", action="store_true", help="go on as the stream grows, until Ctrl-C")
    events.add_argument(
        "--limit", type=positive, default=1000, help="at most this many, unless following (1000)"
    )


def add_checking(add: Verbs) -> None:
    """Add what asks whether all is well."""
    add(
        "audit",
        "integrity:audit",
        "ask quickly whether the ledger is well; 1 if anything is found",
        "  foja audit\n  foja audit --json",
    )
    fsck = add(
        "fsck",
        "integrity:fsck",
        "derive everything again from the rows and name the first event touched",
        "  foja fsck\n  foja fsck --tiles --json\n  foja fsck --checkpoint kept.checkpoint --key kept.vkey",
    )
    fsck.add_argument("--checkpoint", type=Path, metavar="FILE", help="a signed checkpoint kept outside")
    fsck.add_argument(
        "--key", metavar="VKEY|FILE", help="the log's public key, if not this installation's own"
    )
    fsck.add_argument("--tiles", action="store_true", help="also compare every published file of the log")


def add_log(add: Verbs) -> None:
    """Add what is about the log of all streams."""
    parent = add(
        "log",
        "log.commands:status",
        "show the log, prove and verify its entries, start it anew",
        "  foja log\n  foja log checkpoint -o today.checkpoint",
    )
    inner = verbs_of(parent)
    inner("status", "log.commands:status", "show every log of this installation", "  foja log status --json")
    inner(
        "key",
        "log.commands:key",
        "print the public key that the log is signed with",
        "  foja log key > foja.vkey",
    )
    checkpoint = inner(
        "checkpoint",
        "log.commands:checkpoint",
        "print the published checkpoint, to be kept outside",
        "  foja log checkpoint -o today.checkpoint",
    )
    checkpoint.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    _proofs(inner)
    _exports(inner)
    restart = inner(
        "restart",
        "log.commands:restart",
        "close a log that cannot go on and open one that names its head; every cursor is reset",
        "  foja log restart --yes",
    )
    restart.add_argument("--yes", action="store_true", help="you know that readers start again")


def _proofs(add: Verbs) -> None:
    prove = add(
        "prove",
        "log.commands:prove",
        "write the proof that an event is in the log, and the event itself",
        "  foja log prove ENTITY 3 -o sheet.tlog-proof       writes sheet.event.json too",
    )
    prove.add_argument("entity", type=UUID, metavar="ENTITY")
    prove.add_argument("seq", type=natural, metavar="SEQ")
    prove.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where the proof goes; else to stdout"
    )
    prove.add_argument(
        "--event", type=Path, metavar="FILE", help="where the event goes; else beside the proof"
    )
    verify = add(
        "verify",
        "log.verify:verify",
        "check a proof offline: no database, no network, only a public key",
        "  foja log verify sheet.tlog-proof --key foja.vkey  reads sheet.event.json too\n"
        "  foja log verify sheet.tlog-proof --entry HEX --key 'name+id+key'",
    )
    verify.add_argument("proof", type=Path, metavar="PROOF", help="a .tlog-proof file")
    verify.add_argument("--key", required=True, metavar="VKEY|FILE", help="the log's public key")
    what = verify.add_mutually_exclusive_group()
    what.add_argument("--event", type=Path, metavar="FILE", help="the event, as `prove` wrote it")
    what.add_argument("--entry", type=bytes.fromhex, metavar="HEX", help="the log entry itself")


def _exports(add: Verbs) -> None:
    export = add(
        "export",
        "log.export:export",
        "write the whole history of a stream, and its place in the log, to be checked by strangers",
        "  foja log export ENTITY -o history.jsonl             writes history.tlog-proof too\n"
        "  foja verify history.jsonl --proof history.tlog-proof --trust foja.vkey",
    )
    export.add_argument("entity", type=UUID, metavar="ENTITY")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where it goes")
    export.add_argument(
        "--proof", type=Path, metavar="FILE", help="where the proof goes; else beside the history"
    )
