"""A conversation as a document: its sealed prefix as JSON lines, derived from its events only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from foja.core.canonical import Json, canonical
from foja.core.excerpt import Excerpt, instant_text

FORM = "foja/transcript/v1"


def transcript(domain: str, entity_id: UUID, events: Iterable[Excerpt]) -> Iterator[bytes]:
    """Yield the lines of the transcript. The same events always give the same bytes."""
    yield canonical({"form": FORM, "domain": domain, "entity_id": str(entity_id)}) + b"\n"
    for event in events:
        yield canonical(_line(event)) + b"\n"


def _line(event: Excerpt) -> dict[str, Json]:
    return {
        "seq": event.seq,
        "at": instant_text(event.at_us),
        "kind": event.kind,
        "actor": event.actor,
        "erased": event.erased,
        "payload": event.payload,
    }
