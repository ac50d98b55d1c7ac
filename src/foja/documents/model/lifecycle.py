"""The eight states of a document's life, and every way from one to another.

A projection: nothing is decided by it. What stands in no row changes nothing.

| event | from | to |
|---|---|---|
| `document.witness.required` | any but closed | needs_witness |
| `document.added`, `document.witness.ready`, `document.protected.requested` | needs_witness | witness_ready |
| `document.signature.started` | any but closed | in_signature_flow |
| `document.signed` | any but closed | signed |
| `tsa.confirmed` | needs_witness, witness_ready | protected |
| `anchor.confirmed`, `rekor.confirmed` | needs_witness, witness_ready, protected, signed | anchored |
| `anchor.failed` that takes the last anchor back | anchored | protected |
| `document.revoked` | any but archived | revoked |
| `document.archived` | any | archived |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from foja.documents.model.history import REORGED, EventLike


class Lifecycle(StrEnum):
    """Where a document is in its life."""

    PROTECTED = "protected"
    NEEDS_WITNESS = "needs_witness"
    WITNESS_READY = "witness_ready"
    IN_SIGNATURE_FLOW = "in_signature_flow"
    SIGNED = "signed"
    ANCHORED = "anchored"
    REVOKED = "revoked"
    ARCHIVED = "archived"


START: Final = Lifecycle.NEEDS_WITNESS
_LIVE = frozenset(Lifecycle) - {Lifecycle.REVOKED, Lifecycle.ARCHIVED}
_BARE = frozenset({Lifecycle.NEEDS_WITNESS, Lifecycle.WITNESS_READY})
_ANCHORABLE = _BARE | {Lifecycle.PROTECTED, Lifecycle.SIGNED}
_HAS_WITNESS = (frozenset({Lifecycle.NEEDS_WITNESS}), Lifecycle.WITNESS_READY)
_ANCHORED = (_ANCHORABLE, Lifecycle.ANCHORED)

TRANSITIONS: Final[Mapping[str, tuple[frozenset[Lifecycle], Lifecycle]]] = {
    "document.witness.required": (_LIVE, Lifecycle.NEEDS_WITNESS),
    "document.added": _HAS_WITNESS,
    "document.witness.ready": _HAS_WITNESS,
    "document.protected.requested": _HAS_WITNESS,
    "document.signature.started": (_LIVE, Lifecycle.IN_SIGNATURE_FLOW),
    "document.signed": (_LIVE, Lifecycle.SIGNED),
    "tsa.confirmed": (_BARE, Lifecycle.PROTECTED),
    "anchor.confirmed": _ANCHORED,
    "rekor.confirmed": _ANCHORED,
    REORGED: (frozenset({Lifecycle.ANCHORED}), Lifecycle.PROTECTED),
    "document.revoked": (frozenset(Lifecycle) - {Lifecycle.ARCHIVED}, Lifecycle.REVOKED),
    "document.archived": (frozenset(Lifecycle), Lifecycle.ARCHIVED),
}
_ABOUT_ANCHORS = frozenset({"anchor.confirmed", "rekor.confirmed", "anchor.failed"})


def lifecycle(events: Iterable[EventLike]) -> Lifecycle:
    """Return where these events lead."""
    status, anchors = START, set[object]()
    for event in events:
        row = TRANSITIONS.get(_word(event, anchors))
        if row and status in row[0]:
            status = row[1]
    return status


def _word(event: EventLike, anchors: set[object]) -> str:
    """Return the row of the table, keeping count of the anchors that stand."""
    kind = event.kind
    if kind not in _ABOUT_ANCHORS:
        return kind
    said = event.payload if isinstance(event.payload, Mapping) else {}
    anchor = (said.get("network", "rekor"), said.get("witness_hash"))
    if kind != "anchor.failed":
        anchors.add(anchor)
    elif said.get("failure_code") == REORGED:
        anchors.discard(anchor)
        return "" if anchors else REORGED
    return kind
