"""Check one event by itself: its payload against its hash, its id against its key."""

from __future__ import annotations

from collections.abc import Iterator

from foja.core.canonical import canonical, parse
from foja.core.event import body_bytes, body_hash, event_id_for
from foja.errors import NotCanonical
from foja.observe.fsck.rows import EventRow

Problem = tuple[str, str, str]
RECORDED = "the body that was recorded"


def problems(event: EventRow, *, erasable: bool) -> Iterator[Problem]:
    """Yield every problem of an event, as check, expected and found."""
    yield from _erasure_problems(event, erasable) if event.payload is None else _body_problems(event)
    if event.key is not None and event_id_for(event.entity_id, event.key) != event.event_id:
        yield "id", f"the id derived from its key {event.key!r}", str(event.event_id)


def _erasure_problems(event: EventRow, erasable: bool) -> Iterator[Problem]:
    if event.salt is not None or event.actor is not None:
        yield "body", RECORDED, "no payload, but a salt or an actor"
    elif not erasable:
        yield "body", RECORDED, f"none, and a {event.kind} may not be erased"
    elif not event.witnessed:
        yield "body", RECORDED, "none, and no body.erased event that names it"


def _body_problems(event: EventRow) -> Iterator[Problem]:
    assert event.payload is not None
    if event.salt is None:
        yield "body", RECORDED, "a payload without its salt"
        return
    payload = event.payload.encode()
    try:
        if canonical(parse(payload)) != payload:
            yield "canonical", "a payload in canonical form", "another form of it"
        computed = body_hash(event.salt, body_bytes(event.actor, payload, event.source, event.v))
    except NotCanonical as error:
        yield "canonical", "a payload in canonical form", str(error)
        return
    if computed != event.body_hash:
        changed = "another payload, actor, source, version, salt or body hash"
        yield "body", f"{RECORDED}, with the hash {event.body_hash.hex()}", f"{changed} ({computed.hex()})"
