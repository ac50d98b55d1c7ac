"""The parser of `foja monitor`."""

from __future__ import annotations

from pathlib import Path

from foja.interfaces.cli.parser.values import key_name, seconds
from foja.interfaces.cli.parser.verbs import Verbs, add_force


def add_monitor(verbs: Verbs) -> None:
    """Add the verb `monitor`."""
    verb = verbs.add(
        "monitor.monitor:monitor",
        "follow the log of others, find every fork, and vouch for its streams",
        "  foja monitor https://foja.example.com --trust foja.vkey\n"
        "  foja monitor https://foja.example.com --trust foja.vkey --every 60\n"
        "  foja monitor /srv/copy/log --trust foja.vkey --json\n"
        "  foja monitor key --name monitor.example.com > monitor.vkey\n"
        "  foja monitor vouch 0190…-… -o contract.monitor",
    )
    verb.add_argument(
        "words",
        nargs="+",
        metavar="URL|FOLDER|key|vouch STREAM",
        help="the log to follow: its address, or the folder `log` of a store; `key` prints the public key of"
        " this monitor; `vouch STREAM` signs what the last poll found of a stream",
    )
    verb.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="KEY|FILE",
        help="the public key of the log, or `restart:ORIGIN` of a restart to accept; may be repeated",
    )
    verb.add_argument(
        "--also",
        action="append",
        default=[],
        type=Path,
        metavar="FILE|FOLDER",
        help="checkpoints, log proofs or bundles that others received: is it the same log? may be repeated",
    )
    verb.add_argument("--state", type=Path, metavar="FILE", help="what was seen (monitor/state in the home)")
    verb.add_argument("--every", type=seconds, metavar="SECONDS", help="poll again and again until stopped")
    verb.add_argument("--name", type=key_name, help="the name in the key of this monitor; given once")
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file for the statement")
    add_force(verb)
