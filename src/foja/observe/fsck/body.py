"""One event by itself: does it still say what its hash and its id commit to?"""

from __future__ import annotations

from collections.abc import Iterator

from foja.core.canonical import canonical, parse
from foja.core.event import body_bytes, body_hash, event_id_for
from foja.errors import NotCanonical
from foja.observe.fsck.rows import EventRow

Problem = tuple[str, str, str]
UNTOUCHED = "the body that was recorded"


def problems(sheet: EventRow, *, erasable: bool) -> Iterator[Problem]:
    """Yield what is wrong with an event, as check, expected and found."""
    yield from _erasure_problems(sheet, erasable) if sheet.payload is None else _body_problems(sheet)
    if sheet.key is not None and event_id_for(sheet.entity_id, sheet.key) != sheet.event_id:
        yield "id", f"the id made of its key {sheet.key!r}", str(sheet.event_id)


def _erasure_problems(sheet: EventRow, erasable: bool) -> Iterator[Problem]:
    if sheet.salt is not None or sheet.actor is not None:
        yield "body", UNTOUCHED, "a payload that is gone while salt or actor are left"
    elif not erasable:
        yield "body", UNTOUCHED, f"nothing, and a {sheet.kind} may not be erased"
    elif not sheet.witnessed:
        yield "body", UNTOUCHED, "nothing, and no body.erased event that names it"


def _body_problems(sheet: EventRow) -> Iterator[Problem]:
    assert sheet.payload is not None
    if sheet.salt is None:
        yield "body", UNTOUCHED, "a payload without its salt"
        return
    payload = sheet.payload.encode()
    try:
        if canonical(parse(payload)) != payload:
            yield "canonical", "a payload in canonical form", "another spelling of it"
        computed = body_hash(sheet.salt, body_bytes(sheet.actor, payload, sheet.source, sheet.v))
    except NotCanonical as error:
        yield "canonical", "a payload in canonical form", str(error)
        return
    if computed != sheet.body_hash:
        said = "another payload, actor, source, version, salt or body hash"
        yield "body", f"{UNTOUCHED}, with the hash {sheet.body_hash.hex()}", f"{said} ({computed.hex()})"
