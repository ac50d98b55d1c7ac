"""The command `foja monitor`."""

from __future__ import annotations

from pathlib import Path

from foja.interfaces.cli.parser.commands import FORCE, Argument, command
from foja.interfaces.cli.parser.values import key_name, seconds

COMMANDS = (
    command(
        "monitor",
        "monitor.monitor:monitor",
        "follow the log of others, find every fork, and vouch for its streams",
        "foja monitor https://foja.example.com --trust foja.vkey\n"
        "foja monitor https://foja.example.com --trust foja.vkey --every 60\n"
        "foja monitor /srv/copy/log --trust foja.vkey --json\n"
        "foja monitor key --name monitor.example.com > monitor.vkey\n"
        "foja monitor vouch 0190…-… -o contract.monitor",
        Argument(
            "URL|FOLDER|key|vouch STREAM...",
            "the log to follow: its address, or the folder `log` of a store; `key` prints the public key of"
            " this monitor; `vouch STREAM` signs what the last poll found of a stream",
            parameter="words",
        ),
        Argument(
            "--trust KEY|FILE...",
            "the public key of the log, or `restart:ORIGIN` of a restart to accept; may be repeated",
        ),
        Argument(
            "--also FILE|FOLDER...",
            "checkpoints, log proofs or bundles that others received: is it the same log? may be repeated",
            Path,
        ),
        Argument("--state FILE", "what was seen (monitor/state in the home)", Path),
        Argument("--every SECONDS", "poll again and again until stopped", seconds),
        Argument("--name NAME", "the name in the key of this monitor; given once", key_name),
        Argument("-o --output FILE", "the file for the statement", Path),
        FORCE,
    ),
)
