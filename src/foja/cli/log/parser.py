"""The parser of `foja log`."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.cli.parser.values import natural
from foja.cli.parser.verbs import AddVerb, add_verbs


def add_log(add: AddVerb) -> None:
    """Add the verb `log` and its verbs; without a verb the logs are listed."""
    parent = add(
        "log",
        "log.log:status",
        "show the log, prove and verify its entries, restart it",
        "  foja log\n  foja log checkpoint -o today.checkpoint",
    )
    inner = add_verbs(parent)
    inner("status", "log.log:status", "list the logs of this installation", "  foja log status --json")
    inner("key", "log.log:key", "print the public key of the log", "  foja log key > foja.vkey")
    checkpoint = inner(
        "checkpoint",
        "log.log:checkpoint",
        "print the published checkpoint, to be saved elsewhere",
        "  foja log checkpoint -o today.checkpoint",
    )
    checkpoint.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    _add_prove(inner)
    _add_verify(inner)
    _add_export(inner)
    restart = inner(
        "restart",
        "log.log:restart",
        "close a halted log and open a new one that names its head; every cursor is reset",
        "  foja log restart --yes",
    )
    restart.add_argument("--yes", action="store_true", help="confirm that every reader starts again")


def _add_prove(add: AddVerb) -> None:
    prove = add(
        "prove",
        "log.log:prove",
        "write an event and the proof that it is in the log",
        "  foja log prove ENTITY 3 -o sheet.tlog-proof       also writes sheet.event.json",
    )
    prove.add_argument("entity", type=UUID, metavar="ENTITY")
    prove.add_argument("seq", type=natural, metavar="SEQ")
    prove.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the file of the proof (default: stdout)"
    )
    prove.add_argument(
        "--event", type=Path, metavar="FILE", help="the file of the event (default: beside the proof)"
    )


def _add_verify(add: AddVerb) -> None:
    verify = add(
        "verify",
        "log.verify:verify",
        "check a proof offline, with a public key and without database or network",
        "  foja log verify sheet.tlog-proof --key foja.vkey  also reads sheet.event.json\n"
        "  foja log verify sheet.tlog-proof --entry HEX --key 'name+id+key'",
    )
    verify.add_argument("proof", type=Path, metavar="PROOF", help="a .tlog-proof file")
    verify.add_argument("--key", required=True, metavar="VKEY|FILE", help="the public key of the log")
    what = verify.add_mutually_exclusive_group()
    what.add_argument("--event", type=Path, metavar="FILE", help="the event, as `prove` wrote it")
    what.add_argument("--entry", type=bytes.fromhex, metavar="HEX", help="the log entry itself")


def _add_export(add: AddVerb) -> None:
    export = add(
        "export",
        "log.export:export",
        "write all events of a stream and the proof of them, to be verified elsewhere",
        "  foja log export ENTITY -o history.jsonl             also writes history.tlog-proof\n"
        "  foja verify history.jsonl --proof history.tlog-proof --trust foja.vkey",
    )
    export.add_argument("entity", type=UUID, metavar="ENTITY")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    export.add_argument(
        "--proof", type=Path, metavar="FILE", help="the file of the proof (default: beside the events)"
    )
