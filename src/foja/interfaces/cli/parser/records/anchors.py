"""The parser of `foja anchors`."""

from __future__ import annotations

from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.cli.parser.verbs import Verbs, add_acts
from foja.pure.models.anchors.view import NAMES

CHANGES = {
    "disable": "let no document require a network any more; attempts that are open go on",
    "flush": "send the digests that wait for a batch now, without waiting for more",
}


def add_anchors(verbs: Verbs) -> None:
    """Add the verb `anchors` and its verbs; without a verb the networks are listed."""
    inner = add_acts(
        verbs,
        "anchors",
        "show and enable the networks that keep digests of documents and of the log, and follow batches",
        "  foja anchors\n"
        "  foja anchors enable bitcoin                   check it, and let documents require it\n"
        "  foja protect contract.pdf --evidence tsa,bitcoin",
        without="anchors",
        acts=ACTS,
    )
    for name, sentence in CHANGES.items():
        change = inner.add(f"anchors.networks:{name}", sentence, f"  foja anchors {name} polygon")
        change.add_argument("network", metavar="NETWORK", choices=NAMES, help="polygon, bitcoin or rekor")
