"""The command `foja anchors`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import command

COMMANDS = (
    command(
        "anchors",
        "anchors.overview",
        "show and enable the networks that keep digests of documents and of the log, and follow batches",
        "foja anchors\n"
        "foja anchors enable bitcoin                   check it, and let documents require it\n"
        "foja protect contract.pdf --evidence tsa,bitcoin",
    ),
)
