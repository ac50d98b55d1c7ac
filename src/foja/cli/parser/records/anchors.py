"""The parser of `foja anchors`."""

from __future__ import annotations

from argparse import ArgumentParser
from uuid import UUID

from foja.cli.parser.values import positive
from foja.cli.parser.verbs import Verbs

NETWORKS = ("polygon", "bitcoin", "rekor")
STATUSES = ("drafted", "sent", "confirmed", "reorged", "refused")
CHANGES = {
    "enable": "check a network and let documents require it; exit code 1 if something is missing",
    "disable": "let no document require a network any more; attempts that are open go on",
    "flush": "send the digests that wait for a batch now, without waiting for more",
}


def add_anchors(verbs: Verbs) -> None:
    """Add the verb `anchors` and its verbs; without a verb the networks are listed."""
    anchors = verbs.add(
        "anchors.networks:overview",
        "show and enable the networks that keep digests of documents and of the log, and follow batches",
        "  foja anchors\n"
        "  foja anchors enable bitcoin                   check it, and let documents require it\n"
        "  foja protect contract.pdf --evidence tsa,bitcoin",
        name="anchors",
    )
    inner = Verbs(anchors)
    listing = inner.add(
        "anchors.batches:listing",
        "list batches, newest first",
        "  foja anchors list\n  foja anchors list --network polygon --status sent --json",
        name="list",
    )
    listing.add_argument("--status", choices=STATUSES, help="only batches that are in this state")
    listing.add_argument("--limit", type=positive, default=100, help="at most this many (100)")
    _add_network(listing)
    show = inner.add("anchors.batches:show", "show one batch in full", "  foja anchors show 0190…-…")
    show.add_argument("batch", type=UUID, metavar="BATCH")
    for name, sentence in CHANGES.items():
        change = inner.add(f"anchors.networks:{name}", sentence, f"  foja anchors {name} polygon")
        change.add_argument("network", metavar="NETWORK", choices=NETWORKS, help="polygon, bitcoin or rekor")
    cost = inner.add(
        "anchors.batches:cost",
        "show what batches cost, by day, in the smallest unit of each network",
        "  foja anchors cost\n  foja anchors cost --network polygon --days 7",
    )
    cost.add_argument("--days", type=positive, default=30, help="so many days back (30)")
    _add_network(cost)


def _add_network(parser: ArgumentParser) -> None:
    parser.add_argument("--network", choices=NETWORKS, help="only this network")
