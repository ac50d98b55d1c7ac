"""The command `foja anchors`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import Argument, command
from foja.pure.models.anchors.view import NAMES

NETWORK = Argument("NETWORK", "polygon, bitcoin or rekor", choices=NAMES)
COMMANDS = (
    command(
        "anchors",
        "anchors.overview",
        "show and enable the networks that keep digests of documents and of the log, and follow batches",
        "foja anchors\n"
        "foja anchors enable bitcoin                   check it, and let documents require it\n"
        "foja protect contract.pdf --evidence tsa,bitcoin",
    ),
    command(
        "anchors disable",
        "anchors.networks:disable",
        "let no document require a network any more; attempts that are open go on",
        "foja anchors disable polygon",
        NETWORK,
    ),
    command(
        "anchors flush",
        "anchors.networks:flush",
        "send the digests that wait for a batch now, without waiting for more",
        "foja anchors flush polygon",
        NETWORK,
    ),
)
