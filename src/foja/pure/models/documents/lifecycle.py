"""The eight lifecycle states of a document, and the transitions between them.

A projection: no rule reads it. An event that has no row for the present state changes nothing. The table is
in docs/documents.md, and a test compares it with `TRANSITIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from foja.pure.models.documents.events import EventLike
from foja.pure.models.documents.track import REORGED, TOKEN_REFUSED


class Lifecycle(StrEnum):
    """The `lifecycle_status` of a document."""

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
_HELD = frozenset({Lifecycle.NEEDS_WITNESS})
_BARE = frozenset({Lifecycle.WITNESS_READY})
_ANCHORABLE = _BARE | {Lifecycle.PROTECTED, Lifecycle.SIGNED}
_HAS_WITNESS = (_HELD, Lifecycle.WITNESS_READY)
_ANCHORED = (_ANCHORABLE, Lifecycle.ANCHORED)

TRANSITIONS: Final[Mapping[str, tuple[frozenset[Lifecycle], Lifecycle]]] = {
    "document.witness.required": (_LIVE, Lifecycle.NEEDS_WITNESS),
    "document.added": _HAS_WITNESS,
    "document.witness.ready": _HAS_WITNESS,
    "document.protected.requested": _HAS_WITNESS,
    "document.signature.started": (_LIVE - _HELD, Lifecycle.IN_SIGNATURE_FLOW),
    "document.signed": (_LIVE - _HELD, Lifecycle.SIGNED),
    "tsa.confirmed": (_BARE, Lifecycle.PROTECTED),
    "anchor.confirmed": _ANCHORED,
    "rekor.confirmed": _ANCHORED,
    REORGED: (frozenset({Lifecycle.ANCHORED}), Lifecycle.PROTECTED),
    TOKEN_REFUSED: (frozenset({Lifecycle.PROTECTED}), Lifecycle.WITNESS_READY),
    "document.revoked": (frozenset(Lifecycle) - {Lifecycle.ARCHIVED}, Lifecycle.REVOKED),
    "document.archived": (frozenset(Lifecycle), Lifecycle.ARCHIVED),
}
_ANCHOR_KINDS = frozenset({"anchor.confirmed", "rekor.confirmed", "anchor.failed"})


def lifecycle(events: Iterable[EventLike]) -> Lifecycle:
    """Return the state that these events lead to."""
    status, anchors = START, set[object]()
    for event in events:
        row = TRANSITIONS.get(_transition(event, anchors))
        if row and status in row[0]:
            status = row[1]
    return status


def _transition(event: EventLike, anchors: set[object]) -> str:
    """Return the name of the event's row, and keep the set of confirmed anchors."""
    kind = event.kind
    payload = event.payload if isinstance(event.payload, Mapping) else {}
    if kind == "tsa.failed":
        return TOKEN_REFUSED if payload.get("failure_code") == TOKEN_REFUSED else kind
    if kind not in _ANCHOR_KINDS:
        return kind
    anchor = (str(payload.get("network", "rekor")), str(payload.get("witness_hash")))
    if kind != "anchor.failed":
        anchors.add(anchor)
    elif payload.get("failure_code") == REORGED:
        anchors.discard(anchor)
        return "" if anchors else REORGED
    return kind
